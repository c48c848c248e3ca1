"""Tests that run with any number of devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy
import pytest
from cupy.cuda import Device, runtime

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


def test_a_device_that_there_is_not_is_refused() -> None:
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidDevice"), Device(7):
        cupy.zeros(1)


def test_the_current_device_is_the_first() -> None:
    assert Device().id == 0


def test_a_kernel_of_the_first_device_is_one(gpu_stats: GpuStatistics) -> None:
    with Device(0):
        cupy.zeros(4, cupy.int32) * 3
    gpu_stats.expect(obtained=1)
