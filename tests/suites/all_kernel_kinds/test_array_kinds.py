"""Kernels that CuPy writes by itself: expressions, reductions, scans, sorting, indexing, fusion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import cupy
import pytest
from cupy._core import _accelerator

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


@pytest.fixture
def values() -> Any:
    """Zeroed numbers: no kernel."""
    return cupy.zeros((8, 64), cupy.float32)


def test_a_ufunc(gpu_stats: GpuStatistics, values: Any) -> None:
    assert cupy.sqrt(values).shape == (8, 64)
    gpu_stats.expect(obtained=1)


def test_a_ufunc_that_casts_and_writes_elsewhere(gpu_stats: GpuStatistics, values: Any) -> None:
    out = cupy.zeros((8, 64), cupy.float64)
    assert cupy.add(values, 1, out=out, dtype=cupy.float64) is out
    gpu_stats.expect(obtained=1)


def test_a_ufunc_that_scatters(gpu_stats: GpuStatistics, values: Any) -> None:
    cupy.add.at(values, cupy.zeros(4, cupy.int64), 1.0)
    gpu_stats.expect(obtained=2)  # the number becomes an array first


def test_an_outer_product_and_an_accumulation(gpu_stats: GpuStatistics) -> None:
    row = cupy.zeros(16, cupy.float32)
    assert cupy.multiply.outer(row, row).shape == (16, 16)
    assert cupy.multiply.accumulate(row).shape == (16,)
    gpu_stats.expect(obtained=3)  # which copies, and scans


def test_filling_arrays(gpu_stats: GpuStatistics) -> None:
    cupy.ones(8)
    cupy.arange(8)
    cupy.linspace(0, 1, 8)
    gpu_stats.expect(obtained=4)  # linspace sets its last number by itself


def test_a_reduction_along_the_first_axis(gpu_stats: GpuStatistics, values: Any) -> None:
    assert values.sum(axis=0).shape == (64,)
    gpu_stats.expect(obtained=1)


def test_a_reduction_to_an_index(gpu_stats: GpuStatistics, values: Any) -> None:
    assert values.argmax(axis=0).shape == (64,)
    gpu_stats.expect(obtained=1)


def test_a_variance(gpu_stats: GpuStatistics, values: Any) -> None:
    assert values.var(axis=0).shape == (64,)
    gpu_stats.expect(obtained=3)


def test_scans(gpu_stats: GpuStatistics, values: Any) -> None:
    assert values.cumsum(axis=1).shape == (8, 64)
    assert values.cumprod(axis=0).shape == (8, 64)
    gpu_stats.expect(obtained=3)


def test_sorting_and_its_helpers(gpu_stats: GpuStatistics, values: Any) -> None:
    assert cupy.sort(values, axis=0).shape == (8, 64)
    assert cupy.lexsort(values).shape == (64,)
    assert cupy.partition(values, 3, axis=1).shape == (8, 64)
    gpu_stats.expect(obtained=2)


def test_indexing_in_every_way(gpu_stats: GpuStatistics, values: Any) -> None:
    rows = cupy.zeros(3, cupy.int64)
    values[rows]
    values[:, 1:3] = 2
    values[rows, rows] = values[rows, rows + 1]
    cupy.where(values > 0, values, -values)
    gpu_stats.expect(obtained=9)


def test_a_mask_needs_its_length_at_once(gpu_stats: GpuStatistics, values: Any) -> None:
    assert values[values > 0].shape == (0,)
    gpu_stats.expect(obtained=2)


def test_complex_half_and_boolean_types(gpu_stats: GpuStatistics) -> None:
    for dtype in ("complex64", "float16", "bool"):
        cupy.zeros(8, dtype) * cupy.zeros(8, dtype)
    gpu_stats.expect(obtained=3)


def test_a_fused_function(gpu_stats: GpuStatistics, values: Any) -> None:
    @cupy.fuse  # type: ignore[untyped-decorator]
    def blended(x: Any, y: Any) -> Any:
        return cupy.sqrt(x * x + y * y) * 0.5

    assert blended(values, values).shape == (8, 64)
    gpu_stats.expect(obtained=1)


def test_a_fused_reduction(gpu_stats: GpuStatistics, values: Any) -> None:
    @cupy.fuse(kernel_name="norm_of_rows")  # type: ignore[untyped-decorator]
    def norm_of_rows(x: Any) -> Any:
        return cupy.sqrt(cupy.sum(x * x, axis=1))

    assert norm_of_rows(values).shape == (8,)
    gpu_stats.expect(obtained=1)


def test_a_vectorized_function(gpu_stats: GpuStatistics, values: Any) -> None:
    @cupy.vectorize  # type: ignore[untyped-decorator]
    def clipped(x: Any) -> Any:
        return x if x > 0 else -x

    assert clipped(values).shape == (8, 64)
    gpu_stats.expect(obtained=1)


def test_special_functions(gpu_stats: GpuStatistics, values: Any) -> None:
    from cupyx.scipy import special

    assert special.erf(values).shape == special.gammaln(values).shape == (8, 64)
    gpu_stats.expect(obtained=2)


@pytest.fixture(params=["none", "block", "library"])
def summing(request: pytest.FixtureRequest) -> Iterator[str]:
    """By which of CuPy's ways a sum is done, for the length of a test."""
    before = (_accelerator.get_routine_accelerators(), _accelerator.get_reduction_accelerators())
    _accelerator.set_routine_accelerators(["cub"] if request.param == "library" else [])
    _accelerator.set_reduction_accelerators(["cub"] if request.param == "block" else [])
    yield request.param
    _accelerator.set_routine_accelerators(before[0])
    _accelerator.set_reduction_accelerators(before[1])


def test_each_way_to_sum_has_kernels_of_its_own(
    gpu_stats: GpuStatistics, values: Any, summing: str
) -> None:
    assert values.sum(axis=1).shape == (8,)
    gpu_stats.expect(obtained=0 if summing == "library" else 1)
