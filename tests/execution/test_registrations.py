"""A registration settles once; what happens afterwards counts once."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator

import pytest

from gpurt_core.execution import (
    AutotuneStatistics,
    CompilationStatistics,
    IssuedRecorder,
    KernelHandling,
    KernelOutcome,
    KernelRegistration,
    StatisticsCollector,
    TuneOutcome,
    TunePick,
    TuneRegistration,
)
from gpurt_core.execution.statistics import COUNTING


@pytest.fixture
def collector() -> Iterator[StatisticsCollector]:
    collector = StatisticsCollector()
    with IssuedRecorder(collector).applied():
        yield collector


def registered() -> KernelRegistration:
    registration = KernelRegistration.register()
    assert registration is not None
    return registration


@pytest.mark.parametrize("outcome", KernelOutcome)
def test_a_kernel_settles_as_its_outcome(
    collector: StatisticsCollector, outcome: KernelOutcome
) -> None:
    registered().settle(outcome)
    expected = CompilationStatistics(**{"registered": 1, outcome.value: 1})
    assert collector.statistics().compilation == expected


@pytest.mark.parametrize("outcome", TuneOutcome)
def test_a_tune_settles_as_its_outcome(
    collector: StatisticsCollector, outcome: TuneOutcome
) -> None:
    tune = TuneRegistration.register()
    assert tune is not None
    tune.settle(outcome)
    expected = AutotuneStatistics(**{"registered": 1, outcome.value: 1})
    assert collector.statistics().autotune == expected


def test_it_settles_once_even_when_threads_race_for_it(collector: StatisticsCollector) -> None:
    registration = registered()
    barrier = threading.Barrier(8)
    refused: list[RuntimeError] = []

    def settle(outcome: KernelOutcome) -> None:
        barrier.wait()
        try:
            registration.settle(outcome)
        except RuntimeError as error:
            refused.append(error)

    outcomes = [*KernelOutcome, *KernelOutcome]
    threads = [threading.Thread(target=settle, args=[outcome]) for outcome in outcomes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted = collector.statistics().compilation
    assert (counted.registered, counted.settled, len(refused)) == (1, 1, 7)


def test_an_abandoned_one_cannot_settle_any_more(collector: StatisticsCollector) -> None:
    registration = registered()
    registration.abandon()
    registration.abandon()
    with pytest.raises(RuntimeError, match="settles once"):
        registration.settle(KernelOutcome.COMPILED)
    assert collector.statistics().compilation == CompilationStatistics(registered=1, abandoned=1)


def test_dropped_unsettled_it_is_abandoned(collector: StatisticsCollector) -> None:
    registration = registered()
    del registration
    gc.collect()  # where references are not counted
    assert collector.statistics().compilation == CompilationStatistics(registered=1, abandoned=1)


def test_dropped_settled_it_counts_no_more(collector: StatisticsCollector) -> None:
    registered().settle(KernelOutcome.LOADED)
    gc.collect()
    assert collector.statistics().compilation == CompilationStatistics(registered=1, loaded=1)


def test_a_finalizer_may_run_while_its_own_thread_counts(collector: StatisticsCollector) -> None:
    dropped = [registered()]
    with COUNTING:
        dropped.clear()
        gc.collect()
    assert collector.statistics().compilation.abandoned == 1


def test_a_cycle_of_dropped_ones_is_abandoned_on_whatever_thread_collects_it(
    collector: StatisticsCollector,
) -> None:
    cycle: list[object] = [registered()]
    cycle.append(cycle)
    del cycle
    thread = threading.Thread(target=gc.collect)
    thread.start()
    thread.join()
    assert collector.statistics().compilation == CompilationStatistics(registered=1, abandoned=1)


def test_what_happens_afterwards_counts_once_each_however_often_it_is_told(
    collector: StatisticsCollector,
) -> None:
    settled = registered().settle(KernelOutcome.COMPILED)
    for _ in range(3):
        settled.record(KernelHandling.STORED)
        settled.record(KernelHandling.REFUSED)
    counted = collector.statistics().compilation
    assert (counted.stored, counted.refused) == (1, 1)


@pytest.mark.parametrize("outcome", [KernelOutcome.FAILED, KernelOutcome.ABANDONED])
def test_nothing_happens_afterwards_to_what_was_not_obtained(
    collector: StatisticsCollector, outcome: KernelOutcome
) -> None:
    with pytest.raises(RuntimeError, match="stored"):
        registered().settle(outcome).record(KernelHandling.STORED)
    assert collector.statistics().compilation.stored == 0


def test_a_pick_that_was_not_measured_is_not_persisted(collector: StatisticsCollector) -> None:
    tune = TuneRegistration.register()
    assert tune is not None
    with pytest.raises(RuntimeError, match="persisted"):
        tune.settle(TuneOutcome.FAILED).record(TunePick.PERSISTED)
    assert collector.statistics().autotune.persisted == 0


def test_a_recall_is_outside_registered_and_settled(collector: StatisticsCollector) -> None:
    TuneRegistration.recall()
    assert collector.statistics().autotune == AutotuneStatistics(recalled=1)


def test_a_recall_under_no_override_counts_nowhere() -> None:
    with IssuedRecorder(None).applied():
        TuneRegistration.recall()
        assert TuneRegistration.register() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_counts_although_another_thread_was_counting_when_it_was_forked(
    collector: StatisticsCollector,
) -> None:
    stop = threading.Event()

    def count() -> None:
        with IssuedRecorder(collector).applied():
            while not stop.is_set():
                registered().abandon()

    thread = threading.Thread(target=count)
    thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if not child:
                counted = collector.statistics().compilation
                registered().abandon()
                grown = collector.statistics().compilation - counted
                os._exit(grown != CompilationStatistics(registered=1, abandoned=1))
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
