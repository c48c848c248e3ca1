"""Processes that share an environment: forked ones, several at once, and those that die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from gpurt_core.environment import Environment
from gpurt_core.execution import (
    AutotuneStatistics,
    ProcessMode,
    ProcessModeOverride,
    StatisticsCollector,
)
from gpurt_core.tune import PickBook, Tunable, TunableSet, Tuner
from tests.tune.conftest import counts
from tests.tune.simulated_stream import SimulatedStream, after, timed


def two(stream: SimulatedStream) -> TunableSet:
    return TunableSet(
        lambda *args: args,
        [Tunable("slow", timed(stream, "slow", 2.0)), Tunable("fast", timed(stream, "fast", 1.0))],
    )


def start(script: str, *arguments: Path) -> subprocess.Popen[str]:
    """Another Python, which finds this project."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


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
    folder = tmp_path / "environment"
    workers = [start(WORKER, folder, tmp_path / "trace") for _ in range(3)]
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
    with Environment.open(folder) as environment:
        assert len(environment.picks()) == 6


DYING = """
import os, sys
from gpurt_core.environment import Environment
from gpurt_core.tune import PickBook, Tuner
from tests.tune.simulated_stream import SimulatedStream
from tests.tune.test_tuner_processes import one_that_aborts
os.environ["ABORTING"] = "1"
stream = SimulatedStream()
with Environment.open(sys.argv[1]) as environment:
    tuner = Tuner("t", stream=stream, book=PickBook(environment))
    for key in range(3):
        tuner.execute(one_that_aborts(stream), key)
"""


def one_that_aborts(stream: SimulatedStream) -> TunableSet:
    """Of which one takes its process with it, as a driver's assertion would, where it is to."""

    def run(key: int) -> None:
        stream.launch("crashing", 1.0)
        if key == 2 and "ABORTING" in os.environ and stream.launched.count("crashing") > 18:
            os.abort()

    return TunableSet(
        lambda key: key,
        [Tunable("slow", timed(stream, "slow", 2.0)), Tunable("crashing", run)],
    )


def test_a_candidate_that_takes_its_process_along_loses_no_earlier_pick_and_blocks_nobody(
    tmp_path: Path, collector: StatisticsCollector
) -> None:
    dying = start(DYING, tmp_path)
    dying.communicate(timeout=120)
    assert dying.returncode == -signal.SIGABRT
    stream = SimulatedStream()
    with (
        Environment.open(tmp_path) as environment,
        ProcessModeOverride(ProcessMode.EXECUTE, collector),
    ):
        assert [pick.key for pick in environment.picks()] == ["0", "1"]
        tuner = Tuner("t", stream=stream, book=PickBook(environment))
        for key in range(3):
            tuner.execute(one_that_aborts(stream), key)
    expected = AutotuneStatistics(registered=1, measured=1, persisted=1, recalled=2)
    assert counts(collector) == expected
