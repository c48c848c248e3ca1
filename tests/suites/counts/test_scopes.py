"""Fixtures of every scope: a test pays for its own function-scoped ones, and for no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics
    from tests.suites.counts.conftest import Doubling, Launch


def test_the_first_user_of_a_session_fixture_does_not_pay_for_it(
    gpu_stats: GpuStatistics, session_table: Any
) -> None:
    gpu_stats.expect(obtained=0)


def test_a_kernel_that_a_session_fixture_used_too_is_the_tests_own(
    gpu_stats: GpuStatistics, session_table: Any
) -> None:
    cupy.arange(16)
    gpu_stats.expect(obtained=1)


def test_the_order_of_the_fixtures_does_not_matter(
    module_table: Any, gpu_stats: GpuStatistics
) -> None:
    cupy.arange(16)
    gpu_stats.expect(obtained=1)


def test_a_function_fixture_is_the_tests_own(
    function_table: Launch, gpu_stats: GpuStatistics
) -> None:
    gpu_stats.expect(obtained=1)  # and one more when it is torn down


def test_a_function_fixture_after_gpu_stats_is_the_tests_own(
    gpu_stats: GpuStatistics, function_table: Launch
) -> None:
    function_table()
    gpu_stats.expect(obtained=1)


class TestOfAClass:
    """Two tests that share a fixture of their class."""

    def test_the_first_method_pays_for_what_it_launches(
        self, gpu_stats: GpuStatistics, class_table: Launch, doubling: Doubling
    ) -> None:
        doubling("first_method")()
        gpu_stats.expect(obtained=1)

    def test_the_second_method_launches_the_kernel_of_the_fixture(
        self, gpu_stats: GpuStatistics, class_table: Launch
    ) -> None:
        class_table()
        gpu_stats.expect(obtained=1)
