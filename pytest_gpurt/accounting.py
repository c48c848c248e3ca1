"""Who counts what: one collector for each test, wider fixture, and for what is outside of both.

The process counts to one collector at a time, that of the running test. What a wider-scoped fixture
does counts to the fixture, on the threads that it starts, too; a thread that outlives its test goes
on counting to that test.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gpurt_core.execution import (
    ExecutionStatistics,
    IssuedRecorder,
    ProcessMode,
    ProcessModeOverride,
    StatisticsCollector,
    carry_recorders,
)

COLLECTION = "collection"
"""Conftests, imports, and whatever else runs before the first test."""
OUTSIDE = "outside"
"""Between tests and after the last: hooks, and threads that nobody started in a test."""


@dataclass(slots=True)
class Entry:
    """Something that counts."""

    name: str
    kind: str
    """`"test"`, `"fixture"`, `"collection"` or `"outside"`."""
    attempts: list[StatisticsCollector] = field(default_factory=list)
    """A test that is run again counts anew each time; everything else has one."""


class Accounting:
    """The entries of a session, and the override that says which of them is counted to."""

    def __init__(self, mode: ProcessMode) -> None:
        self.mode = mode
        self.entries: dict[str, Entry] = {}
        self._override: ProcessModeOverride | None = None
        self._carrying = carry_recorders()
        self._current = self._new_attempt(COLLECTION, "collection")

    def open(self) -> None:
        """Starts counting."""
        self._carrying.open()
        self._override = ProcessModeOverride(self.mode, self._current).open()

    def close(self) -> None:
        """Stops counting."""
        if self._override is not None:
            self._override.close()
            self._override = None
            self._carrying.close()

    def count_to_test(self, name: str) -> StatisticsCollector:
        """From here on, a new attempt of this test counts."""
        return self._switch_to(self._new_attempt(name, "test"))

    def count_to_outside(self) -> None:
        """From here on, no test counts."""
        self._switch_to(self._only_attempt(OUTSIDE, "outside"))

    @contextmanager
    def counting_to_fixture(self, name: str) -> Iterator[StatisticsCollector]:
        """On this thread, and those that it starts, a wider-scoped fixture counts."""
        collector = self._only_attempt(name, "fixture")
        with IssuedRecorder(collector).applied():
            yield collector

    def total(self) -> ExecutionStatistics:
        """The sum over all entries and their attempts."""
        sum = ExecutionStatistics()
        for entry in list(self.entries.values()):
            for collector in entry.attempts:
                sum += collector.statistics()
        return sum

    def keep_those_in_force(self) -> None:
        """In a forked child: nothing that its parent is not counting to now will ever grow here."""
        kept = {self._current, IssuedRecorder.capture().collector}
        self.entries = {
            name: Entry(name, entry.kind, entry.attempts[-1:])
            for name, entry in self.entries.items()
            if entry.attempts[-1] in kept
        }

    def _switch_to(self, collector: StatisticsCollector) -> StatisticsCollector:
        self._current = collector
        if self._override is not None:
            other = ProcessModeOverride(self.mode, collector)
            self._override.hand_over(other)
            self._override = other
        return collector

    def _only_attempt(self, name: str, kind: str) -> StatisticsCollector:
        entry = self.entries.get(name)
        return entry.attempts[-1] if entry else self._new_attempt(name, kind)

    def _new_attempt(self, name: str, kind: str) -> StatisticsCollector:
        entry = self.entries.setdefault(name, Entry(name, kind))
        collector = StatisticsCollector(name)
        entry.attempts.append(collector)
        return collector
