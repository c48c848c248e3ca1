"""Skipped where the runtime counts no device."""

from __future__ import annotations

import cupy
import pytest


def device_count() -> int:
    """How many devices there are."""
    try:
        return int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError:
        return 0


pytestmark = pytest.mark.skipif(device_count() == 0, reason="no device")


def test_a_kernel_keeps_the_shape() -> None:
    assert cupy.sin(cupy.zeros((2, 3), cupy.float32)).shape == (2, 3)
