"""Skipped where CuPy says that there is no CUDA."""

from __future__ import annotations

import cupy
import pytest

pytestmark = pytest.mark.skipif(not cupy.cuda.is_available(), reason="no CUDA")


def test_a_kernel_keeps_the_shape() -> None:
    assert cupy.cos(cupy.zeros((2, 3), cupy.float32)).shape == (2, 3)


def test_a_value_is_right() -> None:
    assert float(cupy.cosh(cupy.zeros(1, cupy.float32))[0]) == 1.0
