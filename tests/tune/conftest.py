"""What tests of the tuner share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpurt_core.environment import Environment
from gpurt_core.execution import (
    AutotuneStatistics,
    ProcessMode,
    ProcessModeOverride,
    StatisticsCollector,
)
from gpurt_core.tune import Measurement, PickBook, Tuner
from tests.tune.simulated_stream import SimulatedStream


@pytest.fixture
def stream() -> SimulatedStream:
    return SimulatedStream()


@pytest.fixture
def book() -> PickBook:
    """A book that keeps nothing."""
    return PickBook()


@pytest.fixture
def collector() -> StatisticsCollector:
    return StatisticsCollector("test")


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    with Environment.open(tmp_path / "environment") as environment:
        yield environment


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


def counts(collector: StatisticsCollector) -> AutotuneStatistics:
    """What was counted of tunes."""
    return collector.statistics().autotune
