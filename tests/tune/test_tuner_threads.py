"""Several threads and processes that need the same keys: one measures, the others wait."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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


def test_a_fork_in_mid_measurement_leaves_the_child_free_to_measure(
    stream: SimulatedStream, book: PickBook
) -> None:
    results: list[int] = []
    tunables = two(stream)
    tuner = Tuner("t", stream=stream, book=book)

    def fork() -> None:
        if results:
            return
        child = os.fork()
        if child == 0:  # only this thread is left, and nobody measures
            other = SimulatedStream()
            other.service_stream = stream.service_stream
            done = []
            thread = threading.Thread(
                target=lambda: done.append(
                    Tuner("t", stream=other, book=book).execute(two(other), 8)
                )
            )
            thread.start()
            thread.join(30)
            os._exit(0 if done == ["fast"] else 1)
        results.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    forking = TunableSet(
        lambda: "forks",
        [
            Tunable("a", after(fork, timed(stream, "a", 1.0))),
            Tunable("b", timed(stream, "b", 2.0)),
        ],
    )
    assert tuner.execute(forking) == "a"
    assert results == [0]
    assert tuner.execute(tunables, 8) == "fast"


WORKER = """
import json, os, sys, time
from gpurt_core.environment import Environment
from gpurt_core.execution import ProcessMode, ProcessModeOverride, StatisticsCollector
from gpurt_core.tune import PickBook, Tunable, TunableSet, Tuner
from tests.tune.simulated_stream import SimulatedStream, timed
folder, trace = sys.argv[1:]

class Traced(SimulatedStream):
    def profile(self, function):
        with open(trace, "a") as file:
            print("begin", os.getpid(), file=file, flush=True)
            time.sleep(0.002)
            seconds = super().profile(function)
            print("end", os.getpid(), file=file, flush=True)
        return seconds

stream, collector = Traced(), StatisticsCollector()
tunables = TunableSet(lambda n: n, [
    Tunable("slow", timed(stream, "slow", 2.0)), Tunable("fast", timed(stream, "fast", 1.0)),
])
with Environment.open(folder) as environment:
    tuner = Tuner("t", stream=stream, book=PickBook(environment))
    with ProcessModeOverride(ProcessMode.EXECUTE, collector):
        order = range(6) if os.getpid() % 2 else reversed(range(6))
        results = [tuner.execute(tunables, n) for n in order]
    counted = collector.statistics().autotune
    print(json.dumps([results, counted.measured, counted.persisted, counted.recalled,
                      counted.registered]))
"""


def test_processes_that_share_an_environment_and_a_device_measure_each_key_once_and_alone(
    tmp_path: Path,
) -> None:
    script = tmp_path / "worker.py"
    script.write_text(textwrap.dedent(WORKER))
    arguments = [
        sys.executable,
        str(script),
        str(tmp_path / "environment"),
        str(tmp_path / "trace"),
    ]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    workers = [
        subprocess.Popen(arguments, env=env, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    answers = [json.loads(worker.communicate(timeout=120)[0]) for worker in workers]
    assert [answer[0] for answer in answers] == [["fast"] * 6] * 3
    measured, persisted, recalled, registered = (
        sum(answer[i] for answer in answers) for i in (1, 2, 3, 4)
    )
    assert (measured, persisted, recalled, registered) == (6, 6, 12, 6)
    lines = (tmp_path / "trace").read_text().splitlines()
    for begin, end in zip(lines[::2], lines[1::2], strict=True):
        assert begin.split()[0] == "begin", "one process measures at a time on one device"
        assert end.split() == ["end", begin.split()[1]]
    with Environment.open(tmp_path / "environment") as environment:
        assert len(environment.picks()) == 6
