"""`gpu_stats` and `expect`: what a test obtains, and that a wrong expectation fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy
import pytest

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics
    from tests.suites.counts.conftest import Doubling


def test_one_kernel_launched_many_times_is_one(
    gpu_stats: GpuStatistics, doubling: Doubling
) -> None:
    launch = doubling("many_times")
    for _ in range(10):
        launch()
    gpu_stats.expect(obtained=1)


def test_two_kernel_objects_of_the_same_source_are_one(
    gpu_stats: GpuStatistics, doubling: Doubling
) -> None:
    doubling("same_source")()
    doubling("same_source")()
    gpu_stats.expect(obtained=1)


def test_a_kernel_that_is_made_and_never_launched_costs_nothing(
    gpu_stats: GpuStatistics, doubling: Doubling
) -> None:
    doubling("never_launched")
    gpu_stats.expect(obtained=0, compiled=0, loaded=0, failed=0)


def test_memory_that_is_zeroed_filled_and_read_by_copies_costs_nothing(
    gpu_stats: GpuStatistics,
) -> None:
    cupy.zeros((4, 8)).get()
    cupy.asarray([1.0, 2.0])
    gpu_stats.expect(obtained=0)


def test_ones_and_a_copy_are_kernels(gpu_stats: GpuStatistics) -> None:
    cupy.ones((4, 8)).copy()
    gpu_stats.expect(obtained=2)


def test_array_expressions_cost_a_kernel_for_each_operation_and_types(
    gpu_stats: GpuStatistics,
) -> None:
    values = cupy.zeros(8, cupy.float32)
    values + values
    values + values.reshape(2, 4)[0, 0]  # broadcasting is another kernel
    values.astype(cupy.float64)
    gpu_stats.expect(obtained=3)


def test_an_empty_array_launches_nothing(gpu_stats: GpuStatistics) -> None:
    cupy.zeros(0) + 1
    gpu_stats.expect(obtained=0)


def test_sums_that_widen_two_types_are_two_kernels(gpu_stats: GpuStatistics) -> None:
    cupy.zeros(8, cupy.int16).sum()
    cupy.zeros(8, cupy.int32).sum()
    gpu_stats.expect(obtained=2)


def test_a_sum_that_cub_was_built_for_costs_nothing(gpu_stats: GpuStatistics) -> None:
    cupy.zeros(8, cupy.float32).sum()
    gpu_stats.expect(obtained=0)


def test_a_count_is_read_without_expect(gpu_stats: GpuStatistics, doubling: Doubling) -> None:
    doubling("read_plainly")()
    counts = gpu_stats.compilation
    assert counts.obtained == counts.compiled + counts.loaded == 1
    assert counts.settled == counts.registered == 1


def test_kernels_are_listed_by_name(gpu_stats: GpuStatistics, doubling: Doubling) -> None:
    doubling("first_of_the_list")()
    doubling("second_of_the_list")()
    labels = {kernel.label for kernel in gpu_stats.kernels}
    assert labels == {"first_of_the_list", "second_of_the_list"}


def test_what_is_obtained_now_is_compiled_or_loaded(
    gpu_stats: GpuStatistics, doubling: Doubling
) -> None:
    doubling("compiled_or_loaded")()
    gpu_stats.expect(failed=0, abandoned=0, refused=0)
    assert gpu_stats.compilation.obtained == 1


def test_a_fresh_environment_has_to_compile(
    gpu_stats: GpuStatistics, doubling: Doubling, gpu_fresh_environment: object
) -> None:
    doubling("many_times")()  # which another test has stored
    gpu_stats.expect(obtained=1, compiled=1, loaded=0, stored=1)


def test_a_wrong_expectation_is_a_failure(gpu_stats: GpuStatistics, doubling: Doubling) -> None:
    doubling("one_too_few")()
    gpu_stats.expect(obtained=2)


def test_a_wrong_expectation_is_a_failure_after_a_read_too(
    gpu_stats: GpuStatistics, doubling: Doubling
) -> None:
    doubling("one_too_many")()
    cupy.zeros(4).get()
    gpu_stats.expect(obtained=0)


def test_an_unknown_count_is_a_type_error(gpu_stats: GpuStatistics) -> None:
    with pytest.raises(TypeError, match="compield"):
        gpu_stats.expect(compield=1)


def test_no_tune_was_measured(gpu_stats: GpuStatistics) -> None:
    gpu_stats.expect(measured=0, recalled=0, persisted=0)
