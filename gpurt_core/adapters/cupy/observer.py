"""What an observer of the seam is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpurt_core.execution import KernelOutcome, StatisticsCollector


@dataclass(frozen=True, slots=True)
class KernelReport:
    """What became of a kernel on one device."""

    id: str
    label: str
    """What people call it."""
    arch: str
    """Compute capability without its dot."""
    outcome: KernelOutcome
    seconds: float
    """Time that it took to compile it."""
    log: str | None
    """What the compiler said about one that failed."""
    parts: Mapping[str, str]
    """What its id was made of."""
    tried_by: tuple[StatisticsCollector, ...]


class SeamObserver:
    """Is told what happens at the seam, on whichever thread it happens; does nothing by itself."""

    def reached(self, id: str, label: str) -> None:
        """A kernel was asked for or launched for the first time under the modes in force."""

    def settled(self, report: KernelReport) -> None:
        """A kernel has its outcome."""

    def unusable(self, id: str, label: str, reason: str) -> None:
        """A kernel has compiled, and the device refuses it, or it lacks a function that was taken
        from it on trust."""
