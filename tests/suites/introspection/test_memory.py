"""What memory pools say: as on a device, and nothing of the plugin's is in them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import cupy
import pytest

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


@pytest.fixture
def pool() -> Iterator[Any]:
    """A memory pool of the test's own."""
    before = cupy.cuda.get_allocator()
    pool = cupy.cuda.MemoryPool()
    cupy.cuda.set_allocator(pool.malloc)
    yield pool
    cupy.cuda.set_allocator(before)


def test_memory_is_counted_in_steps_of_512_bytes(pool: Any) -> None:
    values = cupy.zeros(1)
    assert pool.used_bytes() == 512
    del values
    assert pool.used_bytes() == 0
    assert pool.total_bytes() == 512


def test_a_launch_keeps_no_array_alive(pool: Any) -> None:
    values = cupy.zeros(128, cupy.float32)
    cupy.RawKernel('extern "C" __global__ void keeps(float* x) {}', "keeps")((1,), (1,), (values,))
    assert pool.used_bytes() == 512
    del values
    gc.collect()
    assert pool.used_bytes() == 0


def test_counting_takes_no_memory(gpu_stats: GpuStatistics, pool: Any) -> None:
    values = cupy.zeros(128, cupy.float32)
    values *= 3
    gpu_stats.expect(obtained=1)
    assert pool.used_bytes() == 512


def test_blocks_are_free_after_free_all_blocks(pool: Any) -> None:
    cupy.zeros(1000)
    assert pool.n_free_blocks() == 1
    pool.free_all_blocks()
    assert (pool.n_free_blocks(), pool.total_bytes()) == (0, 0)


def test_a_limit_of_the_pool_holds(pool: Any) -> None:
    pool.set_limit(size=4096)
    with pytest.raises(cupy.cuda.memory.OutOfMemoryError):
        cupy.zeros(4096)


def test_more_than_the_device_has_is_refused() -> None:
    free, total = cupy.cuda.runtime.memGetInfo()
    assert 0 < free <= total
    with pytest.raises(cupy.cuda.memory.OutOfMemoryError):
        cupy.zeros(total + 1, cupy.int8)


def test_a_large_array_costs_nothing(gpu_stats: GpuStatistics) -> None:
    assert cupy.zeros(4 * 2**30, cupy.int8).nbytes == 2**32
    gpu_stats.expect(obtained=0)


def test_an_allocator_of_ones_own_is_called() -> None:
    sizes: list[int] = []
    before = cupy.cuda.get_allocator()

    def allocate(size: int) -> Any:
        sizes.append(size)
        return before(size)

    cupy.cuda.set_allocator(allocate)
    try:
        cupy.zeros(100, cupy.int8)
    finally:
        cupy.cuda.set_allocator(before)
    assert sizes == [100]
