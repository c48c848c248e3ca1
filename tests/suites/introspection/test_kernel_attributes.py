"""What a kernel says of itself: it is compiled for the answer, there and then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import pytest

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics

pytestmark = pytest.mark.usefixtures("gpu_stats")

SOURCE = """
__constant__ float table[16];
extern "C" __global__ void introspected(float* x) {
    __shared__ float part[64];
    part[threadIdx.x] = x[threadIdx.x] * table[threadIdx.x & 15];
    __syncthreads();
    x[threadIdx.x] = part[63 - threadIdx.x];
}
"""


@pytest.fixture
def kernel() -> Any:
    """A kernel that has not been launched."""
    return cupy.RawKernel(SOURCE, "introspected")


def test_an_attribute_compiles_the_kernel(gpu_stats: GpuStatistics, kernel: Any) -> None:
    assert kernel.num_regs > 0
    counts = gpu_stats.compilation
    assert counts.obtained == counts.registered == 1


def test_memory_is_that_of_the_source(kernel: Any) -> None:
    assert kernel.shared_size_bytes == 256
    assert kernel.const_size_bytes >= 64
    assert kernel.local_size_bytes == 0


def test_versions_are_those_of_the_architecture(kernel: Any) -> None:
    assert kernel.binary_version == kernel.ptx_version == 80


def test_a_value_that_was_set_is_read_back(kernel: Any) -> None:
    assert kernel.max_dynamic_shared_size_bytes <= 49152
    kernel.max_dynamic_shared_size_bytes = 100_000
    assert kernel.max_dynamic_shared_size_bytes == 100_000
    kernel.preferred_shared_memory_carveout = 50
    assert kernel.preferred_shared_memory_carveout == 50


def test_attributes_are_the_same_after_a_launch(gpu_stats: GpuStatistics, kernel: Any) -> None:
    before = kernel.attributes
    kernel((1,), (64,), (cupy.zeros(64, cupy.float32),))
    assert kernel.attributes == before
    gpu_stats.expect(obtained=1)
