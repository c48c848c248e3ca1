"""Candidates that take too long, or do not end."""

from __future__ import annotations

import threading
import time

import pytest

from gpurt_core.execution import (
    AutotuneStatistics,
    ProcessMode,
    ProcessModeOverride,
    StatisticsCollector,
)
from gpurt_core.tune import (
    Measurement,
    PickBook,
    Tunable,
    TunableSet,
    TuneLimits,
    Tuner,
    TuneTimeout,
)
from tests.tune.conftest import counts
from tests.tune.simulated_stream import SimulatedStream, after, raising, timed


def test_a_candidate_whose_samples_take_too_long_is_out(
    stream: SimulatedStream, book: PickBook, told: list[Measurement]
) -> None:
    tuner = Tuner(
        "t",
        stream=stream,
        book=book,
        limits=TuneLimits(sample_seconds=10.0),
        on_measured=told.append,
    )
    tunables = TunableSet(
        lambda: 1,
        [
            Tunable("a minute", timed(stream, "a minute", 60.0)),
            Tunable("a while", timed(stream, "a while", 9.0)),
        ],
    )
    assert tuner.execute(tunables) == "a while"
    assert told[0].failures == {"a minute": "it took 60 s, over the limit of 10 s"}
    assert stream.launched.count("a minute") == 2


def a_and_b(stream: SimulatedStream) -> TunableSet:
    """Of which `a` is the faster."""
    return TunableSet(
        lambda n: ("good", n),
        [Tunable("a", timed(stream, "a", 1.0)), Tunable("b", timed(stream, "b", 2.0))],
    )


class Hanging:
    """A candidate that does not end until it is told to."""

    def __init__(self) -> None:
        self.end = threading.Event()
        self.entered = threading.Event()

    def __call__(self, *args: object) -> None:
        self.entered.set()
        assert self.end.wait(60)


def test_a_candidate_that_never_ends_is_one_clear_error_and_nothing_is_lost(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    hanging = Hanging()
    tuner = Tuner("t", stream=stream, book=book, limits=TuneLimits(hung_seconds=0.2))
    patient = Tuner("t", stream=stream, book=book)
    good, others = a_and_b(stream), SimulatedStream(stream.device)
    bad = TunableSet(
        lambda: "bad", [Tunable("a", timed(stream, "a", 1.0)), Tunable("hangs", hanging)]
    )
    with ProcessModeOverride(ProcessMode.EXECUTE, collector):
        assert patient.execute(good, 1) == "a"
        with pytest.raises(
            TuneTimeout, match="candidate 'hangs' of tuner 't' did not end"
        ) as caught:
            tuner.execute(bad)
        assert (caught.value.candidate, caught.value.seconds) == ("hangs", 0.2)
        assert counts(collector) == AutotuneStatistics(registered=2, measured=1, abandoned=1)
        assert patient.execute(good, 1) == "a", "what is picked goes on"
        with pytest.raises(TuneTimeout, match="'hangs'"):
            patient.execute(good, 2)  # nothing is measured beside it
        assert patient.execute(a_and_b(others), 3, stream=others) == "a", "other devices go on"
        hanging.end.set()
        deadline = time.monotonic() + 60
        while True:
            try:
                assert patient.execute(good, 2) == "a"
                break
            except TuneTimeout:
                assert time.monotonic() < deadline
                time.sleep(0.01)
    assert counts(collector) == AutotuneStatistics(registered=4, measured=3, abandoned=1)


def test_one_that_hangs_inside_another_keeps_the_device_until_it_ends(
    stream: SimulatedStream, book: PickBook
) -> None:
    hanging = Hanging()
    tuner = Tuner("t", stream=stream, book=book, limits=TuneLimits(hung_seconds=0.2))
    inner = TunableSet(lambda: "inner", [Tunable("hangs", hanging), Tunable("a", raising(None))])
    outer = TunableSet(
        lambda: "outer",
        [Tunable("through", lambda: tuner.execute(inner)), Tunable("b", raising(None))],
    )
    with pytest.raises(TuneTimeout, match="'hangs'"):
        tuner.execute(outer)
    other = TunableSet(
        lambda: "other",
        [Tunable("c", timed(stream, "c", 1.0)), Tunable("d", timed(stream, "d", 2.0))],
    )
    with pytest.raises(TuneTimeout, match="'hangs'"):
        tuner.execute(other)
    hanging.end.set()


def test_the_time_that_a_key_inside_takes_is_not_held_against_the_candidate(
    stream: SimulatedStream, book: PickBook
) -> None:
    tuner = Tuner("t", stream=stream, book=book, limits=TuneLimits(hung_seconds=1.0))

    def slowly(name: str) -> Tunable:
        run = timed(stream, name, 1.0)
        return Tunable(name, after(lambda: time.sleep(0.1), run))

    inner = TunableSet(lambda: "inner", [slowly("a"), slowly("b")])
    outer = TunableSet(
        lambda: "outer",
        [
            Tunable("through", lambda: tuner.execute(inner)),
            Tunable("c", timed(stream, "c", 2.0)),
        ],
    )
    assert tuner.execute(outer) == "a"


def test_without_a_limit_candidates_are_measured_on_the_thread_that_tunes(
    stream: SimulatedStream, book: PickBook
) -> None:
    threads: list[threading.Thread] = []
    run = timed(stream, "a", 1.0)
    tunables = TunableSet(
        lambda: 1,
        [
            Tunable("a", after(lambda: threads.append(threading.current_thread()), run)),
            Tunable("b", timed(stream, "b", 2.0)),
        ],
    )
    Tuner("t", stream=stream, book=book, limits=TuneLimits(hung_seconds=None)).execute(tunables)
    assert set(threads) == {threading.current_thread()}
