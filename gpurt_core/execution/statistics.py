"""Counts of kernels and tunes: snapshots that subtract, and the collectors that grow them.

A read sees a consistent moment: every count of every collector changes and is read under one lock.
What is held under it is a few additions of integers, so that a finalizer that runs inside (the
lock is reentrant) finds no addition half done.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from gpurt_core.execution.forking import lock_held_over_forks

#: Held wherever a count changes, and while counts are read together.
COUNTING = lock_held_over_forks()


@dataclass(frozen=True, slots=True)
class _Counts:
    """Fields that are added and subtracted one by one."""

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        return type(self)(
            *(
                getattr(self, field.name) + getattr(other, field.name)
                for field in dataclasses.fields(self)
            )
        )

    def __sub__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        return type(self)(
            *(
                getattr(self, field.name) - getattr(other, field.name)
                for field in dataclasses.fields(self)
            )
        )


@dataclass(frozen=True, slots=True)
class CompilationStatistics(_Counts):
    """How many kernels were asked for, and what became of them."""

    registered: int = 0
    """Queued, or asked for by a launch that found them neither loaded nor queued."""
    compiled: int = 0
    """Compiled by the compiler."""
    loaded: int = 0
    """Read from the environment, or served by another kernel's artifact, instead."""
    failed: int = 0
    """Failed to compile."""
    abandoned: int = 0
    """Dropped before they settled: their batch raised, their server went away."""
    refused: int = 0
    """Compiled or loaded, then refused by the device: counted beside, not instead."""
    stored: int = 0
    """Kept in the environment once loaded: what the environment grew by."""

    @property
    def settled(self) -> int:
        """How many have their outcome: never more than `registered`."""
        return self.compiled + self.loaded + self.failed + self.abandoned

    @property
    def obtained(self) -> int:
        """How many there is an artifact of."""
        return self.compiled + self.loaded


@dataclass(frozen=True, slots=True)
class AutotuneStatistics(_Counts):
    """How many tunes were asked for, and what became of them."""

    registered: int = 0
    """Gathered by a compile-only pass, or reached ungathered by a tune that measures."""
    measured: int = 0
    """Measured on the device."""
    failed: int = 0
    """Every candidate failed: the pick was made unmeasured."""
    abandoned: int = 0
    """Dropped before they settled: a candidate broke, the device was lost."""
    persisted: int = 0
    """Measured, and kept in the environment."""
    recalled: int = 0
    """Answered by the environment: outside `registered` and `settled`."""

    @property
    def settled(self) -> int:
        """How many have their outcome: never more than `registered`."""
        return self.measured + self.failed + self.abandoned


@dataclass(frozen=True, slots=True)
class ExecutionStatistics(_Counts):
    """What was counted of kernels and of tunes, at one moment."""

    compilation: CompilationStatistics = CompilationStatistics()
    autotune: AutotuneStatistics = AutotuneStatistics()


S = TypeVar("S", bound=_Counts)


class Tally(Generic[S]):
    """The counts behind one kind of statistics. They only grow; registrations grow them."""

    __slots__ = ("_counts", "_kind")

    def __init__(self, kind: type[S]) -> None:
        self._kind = kind
        self._counts: dict[str, int] = {}  # small as long as little counts, as in most tests

    def add(self, field: str) -> None:
        """Counts one more in `field`."""
        with COUNTING:
            self._counts[field] = self._counts.get(field, 0) + 1

    def read(self) -> S:
        """The counts of this moment."""
        with COUNTING:
            counts = self._counts.copy()
        return self._kind(**counts)


class StatisticsCollector:
    """Counts what is registered under its override; `name` names it in reports.

    Two collectors are never the same one, whatever they counted.
    """

    __slots__ = ("__weakref__", "kernels", "name", "tunes")

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        self.kernels = Tally(CompilationStatistics)
        self.tunes = Tally(AutotuneStatistics)

    def __repr__(self) -> str:
        return f"StatisticsCollector({self.name!r})"

    def reader(self) -> StatisticsReader:
        """A reader of these counts, for any thread."""
        return StatisticsReader(self)

    def statistics(self) -> ExecutionStatistics:
        """The counts of this moment."""
        with COUNTING:
            return ExecutionStatistics(self.kernels.read(), self.tunes.read())


class StatisticsReader:
    """Reads a collector's counts, from any thread, and changes none."""

    def __init__(self, collector: StatisticsCollector) -> None:
        self._collector = collector

    def statistics(self) -> ExecutionStatistics:
        """The counts of this moment."""
        return self._collector.statistics()

    @property
    def compilation(self) -> CompilationStatistics:
        """The counts of kernels of this moment."""
        return self._collector.kernels.read()

    @property
    def autotune(self) -> AutotuneStatistics:
        """The counts of tunes of this moment."""
        return self._collector.tunes.read()
