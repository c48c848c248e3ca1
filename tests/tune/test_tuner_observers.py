"""What an observer is told of a measurement."""

from __future__ import annotations

import logging

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
    Tuner,
)
from tests.tune.conftest import counts
from tests.tune.simulated_stream import SimulatedStream, timed


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
