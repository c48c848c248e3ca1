"""Candidates that are rejected, fail or break, and devices that are lost."""

from __future__ import annotations

import math
from collections.abc import Callable

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
    Measurement,
    PickBook,
    Rejected,
    Tunable,
    TunableSet,
    Tuner,
)
from tests.tune.conftest import counts
from tests.tune.simulated_stream import SimulatedStream, after, raising, timed


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
