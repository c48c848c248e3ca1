"""Scripts that need a fresh interpreter: OpenCL and CuPy settle what they use once per process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]

_SETTLED_BY_US = ("POCL_CACHE_DIR", "POCL_KERNEL_CACHE")


def run_python(script: str, environment: Mapping[str, str | None] | None = None) -> str:
    """What a script prints; `None` in `environment` takes a variable away."""
    variables = {k: v for k, v in os.environ.items() if k not in _SETTLED_BY_US}
    variables["PYTHONPATH"] = str(ROOT)
    for name, value in (environment or {}).items():
        variables.pop(name, None)
        if value is not None:
            variables[name] = value
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
