"""Outcomes of every kind: expected failures, skips, exceptions, subtests, second attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from small_library import first, launch  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics

ATTEMPTS: list[int] = []


def test_an_expected_exception_passes(gpu_stats: GpuStatistics) -> None:
    with pytest.raises(ValueError, match="twice"):  # noqa: PT012
        launch("before_an_exception")
        raise ValueError("not twice")
    gpu_stats.expect(obtained=1)


@pytest.mark.xfail(reason="fails on the host", raises=AssertionError)
def test_an_expected_failure_stays_one(gpu_stats: GpuStatistics) -> None:
    launch("of_an_xfail")
    gpu_stats.expect(obtained=2)


@pytest.mark.xfail(reason="right on a device", strict=False)
def test_an_expected_failure_that_reads_stays_one() -> None:
    assert first("of_an_xfail_that_reads") == 2.0


@pytest.mark.xfail(reason="passes", strict=True)
def test_an_unexpected_success_is_a_failure(gpu_stats: GpuStatistics) -> None:
    launch("of_an_xpass")
    gpu_stats.expect(obtained=1)


def test_a_skip_in_the_middle_stays_one(gpu_stats: GpuStatistics) -> None:
    launch("before_a_skip")
    pytest.skip("in the middle")


def test_a_skip_after_a_read_stays_one() -> None:
    if first("of_a_skip_after_a_read") != 1.0:
        pytest.skip("the device computes wrong values")


def test_an_explicit_failure_is_one(gpu_stats: GpuStatistics) -> None:
    launch("before_a_failure")
    pytest.fail("said so")


def test_subtests_that_pass(gpu_stats: GpuStatistics, subtests: pytest.Subtests) -> None:
    for number in range(3):
        with subtests.test(number=number):
            launch(f"of_subtest_{number}")
    gpu_stats.expect(obtained=3)


def test_subtests_of_which_some_read(subtests: pytest.Subtests) -> None:
    for name in ("one", "two"):
        with subtests.test(name=name):
            assert first(f"of_reading_subtest_{name}") == 1.0


@pytest.mark.flaky(reruns=2)
def test_a_second_attempt_passes(gpu_stats: GpuStatistics) -> None:
    launch("of_a_flaky_test")
    ATTEMPTS.append(1)
    gpu_stats.expect(obtained=1)
    assert len(ATTEMPTS) >= 3
