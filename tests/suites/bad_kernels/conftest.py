"""A header that tests include by its folder."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def include(tmp_path: Path) -> Path:
    """A folder with a header that does not compile."""
    (tmp_path / "broken.cuh").write_text("int missing_semicolon = 1\n", encoding="utf-8")
    return tmp_path
