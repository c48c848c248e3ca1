"""The sizes and factors that the library is used with."""

from __future__ import annotations

import numpy
import pytest


@pytest.fixture(params=[1 << 10, 1 << 16, 1 << 20], ids=["small", "middle", "large"])
def values(request: pytest.FixtureRequest) -> numpy.ndarray:
    """Single-precision numbers."""
    return numpy.linspace(-1, 1, request.param, dtype=numpy.float32)


@pytest.fixture(params=[2.5, -0.5], ids=["longer", "shorter"])
def factor(request: pytest.FixtureRequest) -> float:
    """What they are multiplied with."""
    return float(request.param)
