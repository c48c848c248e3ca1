"""Templates whose instances are named in several spellings, and in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import pytest
from cupy.cuda import driver

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics

CODE = "template <typename T> __global__ void k(T* x) { x[threadIdx.x] = T(1); }"
A = ("k<size_t>", "k<float>")
B = ("k<float>", "k<size_t>")
C = ("k<unsigned long>", "k<float>")


def launch_all(names: tuple[str, ...]) -> Any:
    """Takes each function by its spelling, and launches it."""
    module = cupy.RawModule(code=CODE, name_expressions=names)
    for name in names:
        module.get_function(name)((1,), (32,), (cupy.zeros(32, "f" if "float" in name else "L"),))
    return module


def test_a_list_of_expressions_is_one_kernel(gpu_stats: GpuStatistics) -> None:
    launch_all(A)
    gpu_stats.expect(obtained=1)


def test_the_list_in_another_order_has_all_its_functions(gpu_stats: GpuStatistics) -> None:
    launch_all(B)
    gpu_stats.expect(obtained=1)


def test_another_spelling_has_its_own_functions(gpu_stats: GpuStatistics) -> None:
    launch_all(C)
    gpu_stats.expect(obtained=1)


@pytest.mark.gpu_eager
@pytest.mark.parametrize("names", [A, B, C])
def test_each_spelling_is_found_when_it_is_loaded(
    gpu_stats: GpuStatistics, names: tuple[str, ...]
) -> None:
    launch_all(names)
    gpu_stats.expect(obtained=1)


@pytest.mark.parametrize("name", ["k<int>", "k<unsigned long>", "k< size_t >", "k"])
def test_a_spelling_that_was_not_listed_is_an_error(gpu_stats: GpuStatistics, name: str) -> None:
    with pytest.raises(driver.CUDADriverError, match="NOT_FOUND"):
        launch_all(A).get_function(name)
    gpu_stats.expect(obtained=1)


def test_a_subset_of_the_list_is_a_kernel_of_its_own(gpu_stats: GpuStatistics) -> None:
    launch_all(A)
    launch_all(A[:1])
    gpu_stats.expect(obtained=2)
