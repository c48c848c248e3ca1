"""Arrays for all: memory that is zeroed, which costs no kernel."""

from __future__ import annotations

from typing import Any

import cupy
import pytest

LENGTH = 1024


@pytest.fixture
def values() -> Any:
    """Single-precision numbers."""
    return cupy.zeros(LENGTH, cupy.float32)


@pytest.fixture
def other_values() -> Any:
    """As many again."""
    return cupy.zeros(LENGTH, cupy.float32)
