"""Tests of a library that does all its work when it is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import eager_library  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


def test_the_first_test_pays_for_nothing_of_the_import() -> None:
    assert eager_library.NOTHING.shape == (1,)


def test_the_device_is_known_when_the_library_is_imported() -> None:
    assert eager_library.ARCHITECTURE == cupy.cuda.Device().compute_capability == "80"
    assert eager_library.NAME


def test_attributes_are_known_when_conftest_is_read(registers: int) -> None:
    assert registers > 0


def test_a_kernel_that_was_compiled_early_counts_where_it_is_used(gpu_stats: GpuStatistics) -> None:
    eager_library.scale(cupy.zeros(32, cupy.float32))
    gpu_stats.expect(obtained=1)


def test_functions_that_were_taken_early_are_one_kernel(gpu_stats: GpuStatistics) -> None:
    for function in eager_library.FUNCTIONS.values():
        function((1,), (32,), (cupy.zeros(32, cupy.float32),))
    gpu_stats.expect(obtained=1)


def test_a_function_of_conftest_counts_where_it_is_used(
    gpu_stats: GpuStatistics, function: Any
) -> None:
    function((1,), (1,), (cupy.zeros(1, cupy.float32),))
    gpu_stats.expect(obtained=1)


def test_an_array_that_was_made_early_costs_nothing(gpu_stats: GpuStatistics) -> None:
    assert eager_library.TABLE.shape == (8,)
    gpu_stats.expect(obtained=0)
