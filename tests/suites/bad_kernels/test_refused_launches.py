"""Kernels that compile, and launches that CUDA refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import pytest
from cupy.cuda import driver

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics

pytestmark = pytest.mark.usefixtures("gpu_stats")

SOURCE = 'extern "C" __global__ void launched(float* x) { x[threadIdx.x] = 1.0f; }'


def launch(block: tuple[int, ...], shared_mem: int = 0) -> None:
    """One launch of the kernel."""
    values = cupy.zeros(2048, cupy.float32)
    cupy.RawKernel(SOURCE, "launched")((1,), block, (values,), shared_mem=shared_mem)


def test_a_launch_that_fits_passes(gpu_stats: GpuStatistics) -> None:
    launch((1024,))
    gpu_stats.expect(obtained=1)


def test_too_many_threads_are_refused(gpu_stats: GpuStatistics) -> None:
    with pytest.raises(driver.CUDADriverError, match="INVALID_VALUE"):
        launch((2048,))
    gpu_stats.expect(obtained=1)


def test_too_much_shared_memory_is_refused() -> None:
    with pytest.raises(driver.CUDADriverError, match="INVALID_VALUE"):
        launch((32,), shared_mem=1 << 20)


def test_an_argument_that_is_no_array_is_refused() -> None:
    with pytest.raises(TypeError):
        cupy.RawKernel(SOURCE, "launched")((1,), (1,), ("text",))


def test_a_name_that_the_source_lacks_is_refused() -> None:
    other: Any = cupy.RawKernel(SOURCE, "another_name")
    with pytest.raises(driver.CUDADriverError, match="NOT_FOUND"):
        other.compile()


def test_a_refusal_that_nobody_expects_is_a_failure() -> None:
    launch((4096,))
