"""Tests that read device memory back: nothing has run, so they find zeros.

The kernels of those that do not use `gpu_stats` are of types that no other test here uses, so that
their counts do not depend on the order of the tests either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import numpy as np
import pytest

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics
    from tests.suites.counts.conftest import Doubling


def test_a_wrong_value_after_a_read_is_no_failure() -> None:
    ones = cupy.zeros(4, cupy.uint8) + 1
    np.testing.assert_array_equal(ones.get(), [1, 1, 1, 1])


def test_a_value_that_is_right_by_chance_passes(doubling: Doubling) -> None:
    doubling("doubles_zeros")()
    assert not cupy.zeros(4).get().any()


def test_an_exception_of_a_read_value_is_no_failure() -> None:
    length = int(cupy.zeros(1, cupy.uint32).sum())
    [0.0][length - 2]


def test_a_wrong_value_on_the_host_is_a_failure(
    gpu_stats: GpuStatistics, doubling: Doubling
) -> None:
    doubling("fails_without_reading")()
    length = len(cupy.zeros((2, 3)))
    assert length == 3


def test_a_wrong_shape_is_a_failure_though_the_message_shows_the_array(
    gpu_stats: GpuStatistics,
) -> None:
    values = cupy.zeros((2, 3)) * 2
    assert values.shape == (3, 2)


@pytest.fixture
def table() -> Any:
    """An array that a traceback shows, among the arguments of its test."""
    return cupy.zeros((2, 3))


def test_a_failure_without_a_read_is_one_though_the_traceback_shows_the_array(
    gpu_stats: GpuStatistics, table: Any
) -> None:
    columns = (table * 2).shape[1]
    assert columns == 2


def test_a_right_shape_passes() -> None:
    assert (cupy.zeros((2, 3), cupy.complex128) * 3).shape == (2, 3)


def test_a_loop_that_waits_to_converge_is_ended() -> None:
    error = cupy.zeros(1, cupy.float16)
    while float(error[0]) < 1.0:
        error += 0.5


def test_a_loop_that_swallows_exceptions_is_ended() -> None:
    ready = cupy.zeros(1, cupy.bool_)
    done = False
    while not done:
        try:
            done = bool(ready.any())
        except Exception:
            done = False


def test_a_loop_of_so_many_steps_passes() -> None:
    values = cupy.zeros(4, cupy.complex64)
    for _ in range(20):
        values *= 0.5
        complex(values[0])


def test_counts_are_true_though_values_are_not(gpu_stats: GpuStatistics) -> None:
    with gpu_stats.during() as block:
        total = (cupy.zeros(4, cupy.int32) + 1).sum()
    block.expect(obtained=2)
    assert int(total) == 4


@pytest.fixture
def measured_length() -> int:
    """Reads a count back, as a fixture may."""
    return int((cupy.zeros(4, cupy.uint16) + 1).sum())


def test_a_fixture_that_read_makes_a_failure_one_of_reading(measured_length: int) -> None:
    assert measured_length == 4


@pytest.fixture
def failing_setup() -> Any:
    """Fails in the setup, after a read."""
    value = int((cupy.zeros(4, cupy.int8) + 1).sum())
    assert value == 4
    return value


def test_a_setup_that_read_and_failed_is_no_error(failing_setup: Any) -> None:
    assert failing_setup == 4
