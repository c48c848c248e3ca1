"""Counts: snapshots add and subtract, collectors see consistent moments."""

from __future__ import annotations

import dataclasses
import threading
import time

import pytest

from gpurt_core.execution import (
    AutotuneStatistics,
    CompilationStatistics,
    ExecutionStatistics,
    IssuedRecorder,
    KernelHandling,
    KernelOutcome,
    KernelRegistration,
    StatisticsCollector,
    TuneOutcome,
    TunePick,
    TuneRegistration,
)


def test_the_fields_are_those_that_reports_show() -> None:
    assert [field.name for field in dataclasses.fields(CompilationStatistics)] == [
        "registered",
        "compiled",
        "loaded",
        "failed",
        "abandoned",
        "refused",
        "stored",
    ]
    assert [field.name for field in dataclasses.fields(AutotuneStatistics)] == [
        "registered",
        "measured",
        "failed",
        "abandoned",
        "persisted",
        "recalled",
    ]


def test_statistics_add_up_and_subtract() -> None:
    one = ExecutionStatistics(CompilationStatistics(registered=2, compiled=1))
    two = ExecutionStatistics(CompilationStatistics(registered=1), AutotuneStatistics(recalled=3))
    total = sum([one, two], ExecutionStatistics())
    assert total.compilation == CompilationStatistics(registered=3, compiled=1)
    assert total.autotune.recalled == 3
    assert total - two == one


def test_statistics_of_two_kinds_do_not_subtract() -> None:
    with pytest.raises(TypeError):
        CompilationStatistics() - AutotuneStatistics()  # type: ignore[operator]


def test_a_snapshot_cannot_be_changed_and_hashes() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        CompilationStatistics().registered = 1  # type: ignore[misc]
    assert len({ExecutionStatistics(), ExecutionStatistics()}) == 1


def test_settled_and_obtained_are_sums() -> None:
    kernels = CompilationStatistics(9, compiled=1, loaded=2, failed=3, abandoned=3, refused=4)
    assert (kernels.settled, kernels.obtained) == (9, 3)
    assert AutotuneStatistics(9, measured=1, failed=2, abandoned=3, recalled=5).settled == 6


def test_a_reader_reads_each_kind() -> None:
    collector = StatisticsCollector("a test")
    reader = collector.reader()
    with IssuedRecorder(collector).applied():
        kernel, tune = KernelRegistration.register(), TuneRegistration.register()
        TuneRegistration.recall()
    assert kernel is not None
    assert tune is not None
    kernel.settle(KernelOutcome.COMPILED)
    tune.settle(TuneOutcome.MEASURED)
    assert reader.compilation == CompilationStatistics(registered=1, compiled=1)
    assert reader.autotune == AutotuneStatistics(registered=1, measured=1, recalled=1)
    assert reader.statistics() == ExecutionStatistics(reader.compilation, reader.autotune)
    assert collector.name == "a test"


def test_a_read_never_sees_more_settled_than_registered_nor_more_handled_than_settled() -> None:
    collector = StatisticsCollector()
    stop = time.monotonic() + 0.3
    registered_by_each = [0, 0]

    def count(place: int) -> None:
        with IssuedRecorder(collector).applied():
            while time.monotonic() < stop:
                kernel, tune = KernelRegistration.register(), TuneRegistration.register()
                assert kernel is not None
                assert tune is not None
                kernel.settle(KernelOutcome.LOADED).record(KernelHandling.STORED)
                tune.settle(TuneOutcome.MEASURED).record(TunePick.PERSISTED)
                registered_by_each[place] += 1

    threads = [threading.Thread(target=count, args=[place]) for place in range(2)]
    for thread in threads:
        thread.start()
    before = collector.statistics()
    while any(thread.is_alive() for thread in threads):
        now = collector.statistics()
        for counts in (now.compilation, now.autotune, now.compilation - before.compilation):
            assert all(value >= 0 for value in dataclasses.astuple(counts))
        assert now.compilation.stored <= now.compilation.settled <= now.compilation.registered
        assert now.autotune.persisted <= now.autotune.settled <= now.autotune.registered
        before = now
    kernels = collector.statistics().compilation
    assert kernels.registered == kernels.loaded == kernels.stored == sum(registered_by_each)
