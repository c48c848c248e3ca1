"""Registrations: what is counted between registering and settling.

A registration settles once, as one outcome, to the collector that it was registered with, wherever
and whenever that is. Code that holds registrations abandons them in a `finally`; the finalizer,
which abandons one that is dropped unsettled, is only the backstop. It may run on any thread, inside
any lock of ours: the one it takes is reentrant, and never held while another is waited for.
"""

from __future__ import annotations

import enum
from typing import ClassVar, Generic, Self, TypeVar

from gpurt_core.execution.issued import collector_in_force
from gpurt_core.execution.statistics import (
    COUNTING,
    AutotuneStatistics,
    CompilationStatistics,
    StatisticsCollector,
    Tally,
)


class KernelOutcome(enum.Enum):
    """How a kernel settles; the value is the field that counts it."""

    COMPILED = "compiled"
    """Compiled by the compiler."""
    LOADED = "loaded"
    """Read from the environment, or served by another kernel's artifact."""
    FAILED = "failed"
    """Failed to compile."""
    ABANDONED = "abandoned"
    """Dropped before it settled."""


class KernelHandling(enum.Enum):
    """What happens to an obtained kernel afterwards; the value is the field that counts it."""

    REFUSED = "refused"
    """The device refused it."""
    STORED = "stored"
    """The environment kept it."""


class TuneOutcome(enum.Enum):
    """How a tune settles; the value is the field that counts it."""

    MEASURED = "measured"
    """Its candidates were measured."""
    FAILED = "failed"
    """Every candidate failed."""
    ABANDONED = "abandoned"
    """Dropped before it settled."""


class TunePick(enum.Enum):
    """What happens to a measured pick afterwards; the value is the field that counts it."""

    PERSISTED = "persisted"
    """The environment kept it."""


Outcome = TypeVar("Outcome", bound=enum.Enum)
Afterwards = TypeVar("Afterwards", bound=enum.Enum)
_AnyTally = Tally[CompilationStatistics] | Tally[AutotuneStatistics]


class Settled(Generic[Afterwards]):
    """A settled item, which counts what happens to it afterwards once, however often it is told."""

    __slots__ = ("_recorded", "_tally")

    def __init__(self, tally: _AnyTally | None) -> None:
        self._tally = tally
        self._recorded: tuple[Afterwards, ...] = ()

    def record(self, afterwards: Afterwards) -> None:
        """Counts `afterwards`; raises `RuntimeError` for an item that gave nothing to handle."""
        if self._tally is None:
            raise RuntimeError(f"nothing was obtained that could be {afterwards.value}")
        with COUNTING:
            if afterwards not in self._recorded:
                self._recorded = (*self._recorded, afterwards)
                self._tally.add(afterwards.value)


class _Registration(Generic[Outcome, Afterwards]):
    """One item, registered with one collector. Made by `register` only."""

    __slots__ = ("_settled", "_tally", "collector")

    _abandoned: ClassVar[enum.Enum]
    _obtained: ClassVar[frozenset[enum.Enum]]

    def __init__(self, collector: StatisticsCollector) -> None:
        # Settled until it is counted: a finalizer of a half made one must count nothing.
        self._settled = True
        self.collector = collector
        self._tally = self._tally_of(collector)
        with COUNTING:
            self._tally.add("registered")
            self._settled = False

    @staticmethod
    def _tally_of(collector: StatisticsCollector) -> _AnyTally:
        raise NotImplementedError

    @classmethod
    def register(cls) -> Self | None:
        """Registers one item where this thread's work counts; `None` where it counts nowhere."""
        collector = collector_in_force()
        return None if collector is None else cls(collector)

    def settle(self, outcome: Outcome) -> Settled[Afterwards]:
        """Settles it as `outcome`; raises `RuntimeError` when it has settled before."""
        if not self._settle(outcome):
            raise RuntimeError(f"a registration settles once; it cannot be {outcome.value} too")
        return Settled(self._tally if outcome in self._obtained else None)

    def abandon(self) -> None:
        """Settles it as abandoned, unless it has settled."""
        self._settle(self._abandoned)

    def _settle(self, outcome: enum.Enum) -> bool:
        with COUNTING:
            if self._settled:
                return False
            self._settled = True
            self._tally.add(outcome.value)
        return True

    def __del__(self) -> None:
        if not self._settled:
            self.abandon()


class KernelRegistration(_Registration[KernelOutcome, KernelHandling]):
    """One kernel, registered with one collector."""

    __slots__ = ()

    _abandoned = KernelOutcome.ABANDONED
    _obtained = frozenset({KernelOutcome.COMPILED, KernelOutcome.LOADED})

    @staticmethod
    def _tally_of(collector: StatisticsCollector) -> _AnyTally:
        return collector.kernels


class TuneRegistration(_Registration[TuneOutcome, TunePick]):
    """One tune, registered with one collector."""

    __slots__ = ()

    _abandoned = TuneOutcome.ABANDONED
    _obtained = frozenset({TuneOutcome.MEASURED})

    @staticmethod
    def _tally_of(collector: StatisticsCollector) -> _AnyTally:
        return collector.tunes

    @staticmethod
    def recall() -> None:
        """Counts a key that the environment answered: outside registered and settled."""
        collector = collector_in_force()
        if collector is not None:
            collector.tunes.add("recalled")
