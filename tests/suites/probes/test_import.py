"""Skipped where CuPy is not installed."""

from __future__ import annotations

import pytest

cupy = pytest.importorskip("cupy")


def test_a_kernel_keeps_the_shape() -> None:
    assert cupy.arcsinh(cupy.zeros((2, 3), cupy.float32)).shape == (2, 3)
