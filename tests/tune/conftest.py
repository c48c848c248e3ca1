"""What tests of the tuner share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpurt_core.environment import Environment
from gpurt_core.execution import AutotuneStatistics, StatisticsCollector
from gpurt_core.tune import PickBook
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


def counts(collector: StatisticsCollector) -> AutotuneStatistics:
    """What was counted of tunes."""
    return collector.statistics().autotune
