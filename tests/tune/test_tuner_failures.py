"""Candidates that fail, break, hang or recurse, and sets and keys that cannot be tuned."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from gpurt_core.errors import CompilationError, LaunchFailed, LoadRefused
from gpurt_core.execution import (
    AutotuneStatistics,
    LaunchMode,
    ProcessMode,
    ProcessModeOverride,
    StatisticsCollector,
)
from gpurt_core.tune import (
    BadTunableSet,
    BadTuneKey,
    Measurement,
    PickBook,
    Rejected,
    Tunable,
    TunableSet,
    TuneLimits,
    Tuner,
    TuneRecursion,
    TuneTimeout,
)
from tests.tune.conftest import counts
from tests.tune.simulated_stream import SimulatedStream, after, timed


def raising(*errors: Exception | None) -> Callable[..., str]:
    """A candidate that raises these, one call after another; the last at every further call."""
    left = list(errors)

    def run(*args: object) -> str:
        error = left.pop(0) if len(left) > 1 else left[0]
        if error is not None:
            raise error
        return "ran"

    return run


def launch_failed(*, refused: bool) -> LaunchFailed:
    return LaunchFailed(
        "kernel 'k'",
        "opencl:0",
        RuntimeError("INVALID_GROUP"),
        kernel="k",
        grid=(1, 1, 1),
        block=(8192, 1, 1),
        refused=refused,
    )


@pytest.fixture
def told() -> list[Measurement]:
    return []


@pytest.fixture
def tuner(
    stream: SimulatedStream,
    book: PickBook,
    collector: StatisticsCollector,
    told: list[Measurement],
) -> Iterator[Tuner]:
    """A tuner within an override that executes."""
    with ProcessModeOverride(ProcessMode.EXECUTE, collector):
        yield Tuner("t", stream=stream, book=book, on_measured=told.append)


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (Rejected("needs a multiple of 4"), "Rejected: needs a multiple of 4"),
        (CompilationError("expected ';'\nin line 3"), "CompilationError: expected ';'"),
        (LoadRefused("too much shared memory"), "LoadRefused: too much shared memory"),
        (
            launch_failed(refused=True),
            "LaunchFailed: kernel 'k' was refused on opencl:0: RuntimeError: INVALID_GROUP",
        ),
    ],
)
def test_a_rejected_candidate_is_out_and_the_others_are_measured(
    tuner: Tuner,
    stream: SimulatedStream,
    collector: StatisticsCollector,
    told: list[Measurement],
    error: Exception,
    cause: str,
) -> None:
    tunables = TunableSet(
        lambda: 1,
        [
            Tunable("bad", raising(error)),
            Tunable("slow", timed(stream, "slow", 2.0)),
            Tunable("fast", timed(stream, "fast", 1.0)),
        ],
    )
    assert tuner.execute(tunables) == "fast"
    assert counts(collector) == AutotuneStatistics(registered=1, measured=1)
    assert told[0].failures == {"bad": cause}
    assert (told[0].pick, told[0].runner_up) == ("fast", "slow")
    assert told[0].margin == pytest.approx(1)


def test_one_that_fails_after_good_samples_never_wins_and_the_results_of_others_are_kept(
    tuner: Tuner, stream: SimulatedStream, told: list[Measurement]
) -> None:
    fast, calls = timed(stream, "fast", 1.0), raising(None, None, None, Rejected("no more"))
    tunables = TunableSet(
        lambda: 1,
        [
            Tunable("fails later", after(calls, fast)),
            Tunable("slow", timed(stream, "slow", 2.0)),
        ],
    )
    assert tuner.execute(tunables) == "slow"
    assert told[0].failures == {"fails later": "Rejected: no more"}
    assert told[0].samples["fails later"] == (1.0, 1.0)
    assert told[0].scores["slow"].median == pytest.approx(2.0)


def test_further_errors_reject_where_the_tuner_is_told_so(
    stream: SimulatedStream, book: PickBook
) -> None:
    tunables = TunableSet(
        lambda: 1,
        [
            Tunable("bad", raising(ArithmeticError("no"))),
            Tunable("good", timed(stream, "good", 1.0)),
        ],
    )
    with pytest.raises(ArithmeticError):
        Tuner("t", stream=stream, book=book).execute(tunables)
    assert (
        Tuner("t", stream=stream, book=book, rejects=(ArithmeticError,)).execute(tunables) == "good"
    )


@pytest.mark.parametrize("bad", [math.nan, 0.0, -1.0, math.inf])
def test_times_that_are_none_never_win(
    tuner: Tuner, stream: SimulatedStream, told: list[Measurement], bad: float
) -> None:
    class Odd(SimulatedStream):
        def profile(self, function: Callable[[], object]) -> float:
            seconds = super().profile(function)
            return bad if self.launched[-1] == "odd" else seconds

    odd = Odd()
    tunables = TunableSet(
        lambda: 1,
        [Tunable("odd", timed(odd, "odd", 1.0)), Tunable("even", timed(odd, "even", 9.0))],
    )
    assert tuner.execute(tunables, stream=odd) == "even"
    assert told[0].failures["odd"].startswith("its time was")


def test_groups_are_tried_in_order_until_one_works(
    tuner: Tuner, stream: SimulatedStream, told: list[Measurement]
) -> None:
    tunables = TunableSet(
        lambda: 1,
        [Tunable("first", raising(Rejected("no")))],
        [
            [
                Tunable("second", timed(stream, "second", 3.0)),
                Tunable("2b", timed(stream, "2b", 4.0)),
            ],
            [Tunable("third", timed(stream, "third", 1.0))],
        ],
    )
    assert tuner.execute(tunables) == "second"
    assert "third" not in stream.launched
    assert set(told[0].failures) == {"first"}


def test_where_all_fail_the_first_is_picked_unmeasured_and_says_why(
    tuner: Tuner,
    stream: SimulatedStream,
    book: PickBook,
    collector: StatisticsCollector,
    told: list[Measurement],
) -> None:
    tunables = TunableSet(
        lambda: 1,
        [Tunable("a", raising(Rejected("no a"))), Tunable("b", raising(Rejected("no b")))],
    )
    for _ in range(2):
        with pytest.raises(Rejected, match="no a") as caught:
            tuner.execute(tunables)
        assert any("b: Rejected: no b" in note for note in caught.value.__notes__)
    assert counts(collector) == AutotuneStatistics(registered=1, failed=1)
    assert (told[0].measured, told[0].pick, told[0].margin) == (False, "a", None)
    book.begin_generation()
    with pytest.raises(Rejected):
        tuner.execute(tunables)
    assert counts(collector) == AutotuneStatistics(registered=2, failed=2)


@pytest.mark.parametrize("error", [launch_failed(refused=False), KeyError("x"), OSError("gone")])
def test_any_other_error_abandons_is_raised_and_the_next_call_measures(
    tuner: Tuner, stream: SimulatedStream, collector: StatisticsCollector, error: Exception
) -> None:
    odd, run = raising(None, error, None), timed(stream, "a", 1.0)
    tunables = TunableSet(
        lambda: 1,
        [Tunable("a", after(odd, run)), Tunable("b", timed(stream, "b", 2.0))],
    )
    with pytest.raises(type(error)) as caught:
        tuner.execute(tunables)
    assert caught.value is error
    assert counts(collector) == AutotuneStatistics(registered=1, abandoned=1)
    assert tuner.execute(tunables) == "a"
    assert counts(collector) == AutotuneStatistics(registered=2, abandoned=1, measured=1)


def test_a_device_lost_in_mid_measurement_abandons_and_leaves_the_modes_as_they_were(
    book: PickBook, stream: SimulatedStream, collector: StatisticsCollector
) -> None:
    run = timed(stream, "a", 1.0)

    def and_then_lose() -> str:
        stream.lost = len(stream.launched) > 3
        return run()

    tunables = TunableSet(
        lambda: 1,
        [Tunable("a", and_then_lose), Tunable("b", timed(stream, "b", 2.0))],
    )
    tuner = Tuner("t", stream=stream, book=book)
    with ProcessModeOverride(ProcessMode.COMPILE_AND_AUTOTUNE, collector):
        with pytest.raises(ConnectionError):
            tuner.execute(tunables)
        assert LaunchMode.resolve(stream.service_stream) is LaunchMode.COMPILE
    assert counts(collector) == AutotuneStatistics(registered=1, abandoned=1)


def test_gathering_a_candidate_that_breaks_abandons(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    tunables = TunableSet(
        lambda: 1, [Tunable("a", raising(None)), Tunable("b", raising(KeyError("b"), None))]
    )
    tuner = Tuner("t", stream=stream, book=book)
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
        with pytest.raises(KeyError):
            tuner.execute(tunables)
        assert counts(collector) == AutotuneStatistics(registered=1, abandoned=1)
        assert tuner.execute(tunables) == "ran"
    assert counts(collector) == AutotuneStatistics(registered=2, abandoned=1)


def test_a_switch_in_mid_measurement_abandons_and_the_call_is_answered(
    stream: SimulatedStream, collector: StatisticsCollector, told: list[Measurement]
) -> None:
    class Kept:
        def __init__(self) -> None:
            self.picks: list[object] = []

        def pick(self, *identity: str) -> None:
            return None

        def store_pick(self, pick: object) -> bool:
            self.picks.append(pick)
            return True

    before, other = Kept(), Kept()
    book = PickBook(before)
    tuner = Tuner("t", stream=stream, book=book, on_measured=told.append)
    run = timed(stream, "a", 1.0)
    tunables = TunableSet(
        lambda: 1,
        [
            Tunable("a", after(lambda: book.switch(other), run)),
            Tunable("b", timed(stream, "b", 2.0)),
        ],
    )
    with ProcessModeOverride(ProcessMode.EXECUTE, collector):
        assert tuner.execute(tunables) == "a"
    assert counts(collector) == AutotuneStatistics(registered=1, abandoned=1)
    assert before.picks == other.picks == []
    assert told == []


# Time


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
    good, others = a_and_b(stream), SimulatedStream(stream.device)
    bad = TunableSet(
        lambda: "bad", [Tunable("a", timed(stream, "a", 1.0)), Tunable("hangs", hanging)]
    )
    with ProcessModeOverride(ProcessMode.EXECUTE, collector):
        assert tuner.execute(good, 1) == "a"
        with pytest.raises(
            TuneTimeout, match="candidate 'hangs' of tuner 't' did not end"
        ) as caught:
            tuner.execute(bad)
        assert (caught.value.candidate, caught.value.seconds) == ("hangs", 0.2)
        assert counts(collector) == AutotuneStatistics(registered=2, measured=1, abandoned=1)
        assert tuner.execute(good, 1) == "a", "what is picked goes on"
        with pytest.raises(TuneTimeout, match="'hangs'"):
            tuner.execute(good, 2)  # nothing is measured beside it
        assert tuner.execute(a_and_b(others), 3, stream=others) == "a", "other devices go on"
        hanging.end.set()
        deadline = time.monotonic() + 60
        while True:
            try:
                assert tuner.execute(good, 2) == "a"
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
    tuner = Tuner("t", stream=stream, book=book, limits=TuneLimits(hung_seconds=0.4))

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


# Bad input


def test_a_tuner_used_inside_its_own_candidate_for_the_same_key_is_a_clear_error(
    tuner: Tuner, stream: SimulatedStream, collector: StatisticsCollector
) -> None:
    tunables: TunableSet = TunableSet(
        lambda n: ("loop", n),
        [
            Tunable("itself", lambda n: tuner.execute(tunables, n)),
            Tunable("other", timed(stream, "other", 1.0)),
        ],
    )
    with pytest.raises(TuneRecursion, match=r"tuner 't' was asked for key \[\"loop\",8\] inside"):
        tuner.execute(tunables, 8)
    assert counts(collector) == AutotuneStatistics(registered=1, abandoned=1)


def test_so_it_is_when_compiling_only(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    tuner = Tuner("t", stream=stream, book=book)
    tunables: TunableSet = TunableSet(
        lambda: 1,
        [
            Tunable("other", timed(stream, "other", 1.0)),
            Tunable("itself", lambda: tuner.execute(tunables)),
        ],
    )
    with (
        ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector),
        pytest.raises(TuneRecursion, match="inside a candidate for that key"),
    ):
        tuner.execute(tunables)
    assert counts(collector) == AutotuneStatistics(registered=1, abandoned=1)


def test_a_key_that_is_not_json_registers_nothing(
    tuner: Tuner, stream: SimulatedStream, collector: StatisticsCollector
) -> None:
    tunables = TunableSet(lambda x: {x}, [Tunable("a", raising(None)), Tunable("b", raising(None))])
    with pytest.raises(BadTuneKey, match=r"tune key \{8\} does not encode to JSON"):
        tuner.execute(tunables, 8)
    assert counts(collector) == AutotuneStatistics()
    assert stream.launched == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TunableSet(lambda: 1, []), "without candidates"),
        (lambda: TunableSet(lambda: 1, [Tunable("a", print)], [[]]), "without candidates"),
        (
            lambda: TunableSet(lambda: 1, [Tunable("a", print)], [[Tunable("a", print)]]),
            "two candidates are named 'a'",
        ),
        (lambda: Tunable("a", 3), "candidate 'a' is not callable: 3"),  # type: ignore[arg-type]
        (lambda: Tunable("a", print, sources="int a;"), "candidate 'a': sources='int a;' is not"),
        (lambda: Tunable("a", print, sources=[3]), "is not a list of texts"),  # type: ignore[list-item]
    ],
)
def test_a_set_that_cannot_be_tuned_is_refused_when_it_is_made(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(BadTunableSet, match=message):
        make()


def test_a_broken_observer_never_breaks_a_tune(
    stream: SimulatedStream,
    book: PickBook,
    collector: StatisticsCollector,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(measurement: Measurement) -> None:
        raise RuntimeError("observer")

    tunables = TunableSet(
        lambda: 1, [Tunable("a", timed(stream, "a", 1.0)), Tunable("b", timed(stream, "b", 2.0))]
    )
    tuner = Tuner("t", stream=stream, book=book, on_measured=broken)
    with ProcessModeOverride(ProcessMode.EXECUTE, collector), caplog.at_level(logging.ERROR):
        assert tuner.execute(tunables) == "a"
    assert "the observer of measurements raised" in caplog.text
    assert counts(collector) == AutotuneStatistics(registered=1, measured=1)


def test_leaders_that_are_closer_than_their_spread_are_unstable(
    tuner: Tuner, stream: SimulatedStream, told: list[Measurement]
) -> None:
    noise = [0.9, 1.1, 1.0, 1.3, 0.8, 1.05] * 9
    tunables = TunableSet(
        lambda key, *args: key,
        [
            Tunable("a", timed(stream, "a", noise)),
            Tunable("b", timed(stream, "b", [1.01 * n for n in reversed(noise)])),
            Tunable("c", timed(stream, "c", 30.0)),
        ],
    )
    tuner.execute(tunables, "close")
    assert told[0].unstable
    tuner.execute(
        TunableSet(
            lambda: "apart",
            [Tunable("a", timed(stream, "a", 1.0)), Tunable("c", timed(stream, "c", 30.0))],
        )
    )
    assert not told[1].unstable
