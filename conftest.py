"""What all tests of the project share: a fresh place for CuPy's own kernel cache.

Tests of the plugin run it in processes of their own; here it is off (`pyproject.toml`).
"""

from __future__ import annotations

import os
import tempfile

os.environ.setdefault("CUPY_CACHE_DIR", tempfile.mkdtemp(prefix="gpurt-cupy-cache-"))
for name in ("GPURT_NULL_DEVICE", "PYTEST_ADDOPTS"):
    os.environ.pop(name, None)
