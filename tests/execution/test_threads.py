"""Threads and pools keep the recorder of the test that started or submitted them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from gpurt_core.execution import (
    IssuedRecorder,
    ProcessMode,
    ProcessModeOverride,
    StatisticsCollector,
    carry_recorders,
)


def collector_now() -> StatisticsCollector | None:
    return IssuedRecorder.capture().collector


def compiling(collector: StatisticsCollector) -> ProcessModeOverride:
    return ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector)


class Looking(threading.Thread):
    """A thread that overrides `run`, as test suites do."""

    def __init__(self, go_on: threading.Event) -> None:
        super().__init__()
        self.go_on = go_on
        self.seen: list[StatisticsCollector | None] = []

    def run(self) -> None:
        self.seen.append(collector_now())
        self.go_on.wait(10)
        self.seen.append(collector_now())


def test_a_thread_counts_to_the_test_that_started_it_while_the_next_one_runs() -> None:
    first, second = StatisticsCollector(), StatisticsCollector()
    go_on = threading.Event()
    with carry_recorders():
        with compiling(first):
            thread = Looking(go_on)
            thread.start()
        with compiling(second):
            go_on.set()
            thread.join()
    assert thread.seen == [first, first]


def test_a_thread_that_was_started_under_none_counts_nowhere() -> None:
    go_on = threading.Event()
    with carry_recorders():
        thread = Looking(go_on)
        thread.start()
        with compiling(StatisticsCollector()):
            go_on.set()
            thread.join()
    assert thread.seen == [None, None]


def test_a_thread_of_a_thread_counts_to_the_same_test() -> None:
    first, second = StatisticsCollector(), StatisticsCollector()
    go_on, seen = threading.Event(), []

    def start_another() -> None:
        go_on.wait(10)
        inner = threading.Thread(target=lambda: seen.append(collector_now()))
        inner.start()
        inner.join()

    with carry_recorders():
        with compiling(first):
            thread = threading.Thread(target=start_another)
            thread.start()
        with compiling(second):
            go_on.set()
            thread.join()
    assert seen == [first]


def test_a_timer_is_carried_too() -> None:
    first, seen = StatisticsCollector(), []
    with carry_recorders():
        with compiling(first):
            timer = threading.Timer(0.01, lambda: seen.append(collector_now()))
            timer.start()
        timer.join()
    assert seen == [first]


def test_a_shared_pool_counts_each_job_to_the_test_that_submitted_it() -> None:
    first, second = StatisticsCollector(), StatisticsCollector()
    with carry_recorders(), ThreadPoolExecutor(1) as pool:
        with compiling(first):
            one = pool.submit(collector_now)
            mapped = list(pool.map(lambda _: collector_now(), range(2)))
        with compiling(second):
            two = pool.submit(collector_now)
            assert (one.result(), two.result()) == (first, second)
        assert pool.submit(collector_now).result() is None
    assert mapped == [first, first]


def test_a_job_gets_its_arguments_and_its_error_comes_back() -> None:
    def divide(*, fn: int, self: int) -> float:
        return fn / self

    with carry_recorders(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(divide, fn=4, self=2).result() == 2
        with pytest.raises(ZeroDivisionError):
            pool.submit(divide, fn=4, self=0).result()


def test_the_originals_are_back_once_the_last_one_is_closed() -> None:
    originals = threading.Thread.start, ThreadPoolExecutor.submit
    first, second = carry_recorders().open(), carry_recorders().open()
    first.close()
    first.close()
    assert threading.Thread.start is not originals[0]
    second.close()
    assert (threading.Thread.start, ThreadPoolExecutor.submit) == originals


def test_one_object_is_not_opened_twice() -> None:
    with carry_recorders() as carrying, pytest.raises(RuntimeError, match="open already"):
        carrying.open()


def test_a_replacement_over_ours_is_left_in_place_and_ours_hands_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[threading.Thread] = []
    monkeypatch.setattr(threading.Thread, "start", threading.Thread.start)
    carrying = carry_recorders().open()
    ours: Callable[[threading.Thread], None] = threading.Thread.start

    def theirs(self: threading.Thread) -> None:
        calls.append(self)
        ours(self)

    monkeypatch.setattr(threading.Thread, "start", theirs)
    carrying.close()
    assert threading.Thread.start is theirs
    thread = threading.Thread(target=collector_now)
    thread.start()
    thread.join()
    assert calls == [thread]
    with carry_recorders(), compiling(collector := StatisticsCollector()):
        go_on = threading.Event()
        go_on.set()
        looking = Looking(go_on)
        looking.start()
        looking.join()
    assert looking.seen == [collector, collector]


def test_nothing_of_it_is_found_on_a_thread_that_runs() -> None:
    go_on = threading.Event()
    with carry_recorders():
        thread = Looking(go_on)
        thread.start()
        while not thread.seen:
            pass
        assert "run" not in vars(thread)
        go_on.set()
        thread.join()


def test_a_run_that_was_set_on_the_thread_itself_runs_and_stays() -> None:
    seen: list[StatisticsCollector | None] = []

    def run() -> None:
        seen.append(collector_now())

    thread = threading.Thread()
    thread.run = run  # type: ignore[method-assign]
    with carry_recorders(), compiling(collector := StatisticsCollector()):
        thread.start()
        thread.join()
    assert seen == [collector]
    assert thread.run is run


def test_a_second_start_is_refused_as_ever_and_leaves_the_thread_as_it_was() -> None:
    go_on = threading.Event()
    go_on.set()
    with carry_recorders():
        thread = Looking(go_on)
        thread.start()
        with pytest.raises(RuntimeError, match="once"):
            thread.start()
        thread.join()
    assert "run" not in vars(thread)


def test_a_thread_that_cannot_start_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", exhausted)
    thread = threading.Thread(target=collector_now)
    with carry_recorders(), pytest.raises(RuntimeError, match="can't start"):
        thread.start()
    assert "run" not in vars(thread)


def test_pools_of_a_subclass_are_carried() -> None:
    class Pool(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            return super().submit(fn, *args, **kwargs)

    with carry_recorders(), Pool(1) as pool, compiling(collector := StatisticsCollector()):
        assert pool.submit(collector_now).result() is collector


def test_importing_execution_patches_nothing() -> None:
    code = (
        "import threading; start = threading.Thread.start\n"
        "import gpurt_core.execution, sys\n"
        "assert threading.Thread.start is start\n"
        "assert 'pytest' not in sys.modules and 'gpurt_core.compilation' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ})
