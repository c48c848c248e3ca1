"""Threads: they count to the test that started them, for as long as they live."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from small_library import launch  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


class Late:
    """A thread that launches only when it is told to."""

    def __init__(self) -> None:
        self.told = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        self.told.wait(30)
        launch("of_a_late_thread")


@pytest.fixture(scope="module")
def late() -> Late:
    """The thread of two tests."""
    return Late()


def test_a_pool_of_threads_counts(gpu_stats: GpuStatistics) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(launch, [f"of_pool_{number % 4}" for number in range(16)]))
    gpu_stats.expect(obtained=4)


def test_a_thread_that_raises_does_not_stop_the_others(gpu_stats: GpuStatistics) -> None:
    with ThreadPoolExecutor(2) as pool:
        failing = pool.submit(lambda: 1 // 0)
        pool.submit(launch, "beside_a_failing_thread").result()
    with pytest.raises(ZeroDivisionError):
        failing.result()
    gpu_stats.expect(obtained=1)


def test_a_thread_outlives_its_test(gpu_stats: GpuStatistics, late: Late) -> None:
    late.thread.start()
    gpu_stats.expect(obtained=0)  # and one in the course of the next test


def test_the_next_test_does_not_pay_for_it(gpu_stats: GpuStatistics, late: Late) -> None:
    late.told.set()
    late.thread.join()
    gpu_stats.expect(obtained=0)
