"""Several threads that need the same keys: one measures, the others wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpurt_core.environment import Environment
from gpurt_core.execution import (
    AutotuneStatistics,
    ProcessMode,
    ProcessModeOverride,
    StatisticsCollector,
)
from gpurt_core.tune import PickBook, ScheduleOptions, StoredPick, Tunable, TunableSet, Tuner
from tests.tune.conftest import counts
from tests.tune.simulated_stream import SimulatedStream, after, timed

MANY = 8


def pause() -> None:
    """Gives other threads the time to come in between."""
    time.sleep(0.001)


def two(stream: SimulatedStream) -> TunableSet:
    return TunableSet(
        lambda *args: args,
        [
            Tunable("slow", after(pause, timed(stream, "slow", 2.0))),
            Tunable("fast", after(pause, timed(stream, "fast", 1.0))),
        ],
    )


def test_threads_that_need_one_key_measure_it_once(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    tunables = two(stream)
    together = threading.Barrier(MANY)

    def call(_: int) -> object:
        together.wait()
        return Tuner("t", stream=stream, book=book).execute(tunables, 8)

    with ProcessModeOverride(ProcessMode.EXECUTE, collector), ThreadPoolExecutor(MANY) as pool:
        assert list(pool.map(call, range(MANY))) == ["fast"] * MANY
    assert counts(collector) == AutotuneStatistics(registered=1, measured=1)
    assert stream.launched.count("slow") == 1 + ScheduleOptions().least


def test_one_device_measures_one_key_at_a_time_in_any_order_with_the_same_numbers(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    tunables, tuner = two(stream), Tuner("t", stream=stream, book=book)
    mode = ProcessModeOverride(ProcessMode.COMPILE_AND_AUTOTUNE, collector)
    found: list[dict[str, float]] = []
    book.on_measured = lambda m: found.append({n: s.median for n, s in m.scores.items()})
    with mode, ThreadPoolExecutor(MANY) as pool:
        list(pool.map(lambda n: tuner.execute(tunables, n % 4), range(4 * MANY)))
    assert counts(collector) == AutotuneStatistics(registered=4, measured=4)
    assert stream.most_at_once == 1
    assert found == [{"slow": pytest.approx(2.0), "fast": pytest.approx(1.0)}] * 4


def test_a_call_of_another_thread_waits_while_a_key_is_measured_on_its_device(
    stream: SimulatedStream, book: PickBook
) -> None:
    tuner, tunables, other = Tuner("t", stream=stream, book=book), two(stream), SimulatedStream()
    calls: list[Callable[[], object]] = [
        lambda: tuner.execute(tunables, 8),
        lambda: tuner.execute(two(other), 8, stream=other),
    ]
    for call in calls:
        call()
    entered, go = threading.Event(), threading.Event()

    def enter() -> None:
        entered.set()
        assert go.wait(60)

    slow = TunableSet(
        lambda: "slow",
        [
            Tunable("a", after(enter, timed(stream, "a", 1.0))),
            Tunable("b", timed(stream, "b", 2.0)),
        ],
    )
    with ThreadPoolExecutor(3) as pool:
        measured = pool.submit(tuner.execute, slow)
        assert entered.wait(60)
        here, elsewhere = (pool.submit(call) for call in calls)
        assert elsewhere.result(60) == "fast"
        launched = len(stream.launched)
        assert not here.done()
        go.set()
        assert (measured.result(60), here.result(60)) == ("a", "fast")
    assert "fast" not in stream.launched[launched : stream.launched.index("a")]
    assert stream.launched.count("fast") == 1 + ScheduleOptions().least + 1 + 1


def test_a_key_that_several_threads_recall_at_once_counts_once(
    stream: SimulatedStream, environment: Environment, collector: StatisticsCollector
) -> None:
    together = threading.Barrier(2)

    class Meeting:
        """A store that answers two threads at once."""

        def pick(self, device: str, tuner: str, key: str, checksum: str) -> StoredPick | None:
            together.wait(60)
            return environment.pick(device, tuner, key, checksum)

        def store_pick(self, pick: StoredPick) -> bool:
            return environment.store_pick(pick)

    tunables = two(stream)
    Tuner("t", stream=stream, book=PickBook(environment)).execute(tunables, 8)
    tuner = Tuner("t", stream=stream, book=PickBook(Meeting()))
    with ProcessModeOverride(ProcessMode.EXECUTE, collector), ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: tuner.execute(tunables, 8), range(2))) == ["fast"] * 2
    assert counts(collector) == AutotuneStatistics(recalled=1)


def test_threads_on_two_devices_of_one_kind_measure_a_key_once(
    book: PickBook, collector: StatisticsCollector
) -> None:
    streams = [SimulatedStream(), SimulatedStream()]
    sets = [two(stream) for stream in streams]
    together = threading.Barrier(MANY)

    def call(i: int) -> object:
        together.wait()
        return Tuner("t", book=book).execute(sets[i % 2], 8, stream=streams[i % 2])

    with ProcessModeOverride(ProcessMode.EXECUTE, collector), ThreadPoolExecutor(MANY) as pool:
        assert list(pool.map(call, range(MANY))) == ["fast"] * MANY
    assert counts(collector) == AutotuneStatistics(registered=1, measured=1)


def test_candidates_that_use_each_others_devices_do_not_wait_for_each_other(
    book: PickBook, collector: StatisticsCollector
) -> None:
    streams = [SimulatedStream("one"), SimulatedStream("other")]
    sets = [two(stream) for stream in streams]
    tuner, together = Tuner("t", book=book), threading.Barrier(2)
    for stream, tunables in zip(streams, sets, strict=True):
        tuner.execute(tunables, "picked", stream=stream)

    def call(here: int) -> object:
        there = 1 - here
        met: list[int] = []

        def meet_and_use_the_other() -> None:
            if not met:
                met.append(together.wait(60))
            for key in ("picked", f"new, from {here}"):
                tuner.execute(sets[there], key, stream=streams[there])

        crossing = TunableSet(
            lambda: f"crossing from {here}",
            [
                Tunable("a", after(meet_and_use_the_other, timed(streams[here], "a", 1.0))),
                Tunable("b", timed(streams[here], "b", 2.0)),
            ],
        )
        return tuner.execute(crossing, stream=streams[here])

    with ProcessModeOverride(ProcessMode.EXECUTE, collector), ThreadPoolExecutor(2) as pool:
        assert [call.result(60) for call in [pool.submit(call, i) for i in range(2)]] == ["a", "a"]
    assert counts(collector) == AutotuneStatistics(registered=4, measured=4)


def test_those_who_wait_try_again_when_the_measuring_thread_fails(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    fails = [True]
    entered, go = threading.Event(), threading.Event()

    def fail_once() -> None:
        entered.set()
        assert go.wait(60)
        if fails.pop() if fails else False:
            raise KeyError("once")

    tunables = TunableSet(
        lambda: 1,
        [
            Tunable("a", after(fail_once, timed(stream, "a", 1.0))),
            Tunable("b", timed(stream, "b", 2.0)),
        ],
    )
    tuner = Tuner("t", stream=stream, book=book)
    with ProcessModeOverride(ProcessMode.EXECUTE, collector), ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(tuner.execute, tunables) for _ in range(3)]
        assert entered.wait(60)
        go.set()
        outcomes = [call.exception() or call.result() for call in calls]
    assert sorted(map(repr, outcomes)) == ["'a'", "'a'", "KeyError('once')"]
    assert counts(collector) == AutotuneStatistics(registered=2, abandoned=1, measured=1)
