"""Tests that share kernels: each one that counts reaches them anew, in whatever order they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import pytest

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics
    from tests.suites.counts.conftest import Doubling

SHARED = cupy.ElementwiseKernel("T x", "T y", "y = x * x", "shared_between_tests")


def normalise(values: Any) -> Any:
    """Three kernels: a difference, a quotient, a comparison."""
    return (values - 1) / 8 > 0


@pytest.mark.parametrize("number", range(3))
def test_a_kernel_of_the_module_counts_for_each_test_that_counts(
    gpu_stats: GpuStatistics, number: int
) -> None:
    for _ in range(number + 1):
        SHARED(cupy.zeros(8, cupy.float32))
    gpu_stats.expect(obtained=1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_expression_counts_for_each_test_that_counts(
    gpu_stats: GpuStatistics, dtype: str
) -> None:
    normalise(cupy.zeros(8, dtype))
    gpu_stats.expect(obtained=3)


def test_it_counts_after_the_same_work_was_done_elsewhere(gpu_stats: GpuStatistics) -> None:
    normalise(cupy.zeros(8, "float32"))
    normalise(cupy.zeros(8, "float64"))
    SHARED(cupy.zeros(8, cupy.float32))
    gpu_stats.expect(obtained=7)


def test_the_first_that_does_not_count_obtains_the_kernel(doubling: Doubling) -> None:
    doubling("shared_without_counting")()


def test_the_second_that_does_not_count_finds_it_there(doubling: Doubling) -> None:
    doubling("shared_without_counting")()
