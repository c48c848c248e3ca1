"""What a run comes to, as plain values: of one process, or of all workers together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_gpurt.children import CHILDREN

if TYPE_CHECKING:
    from gpurt_core.execution import ExecutionStatistics
    from gpurt_core.tune import Measurement
    from pytest_gpurt.run import GpuRun

Counts = list[int]
"""The fields of the statistics of kernels, then those of tunes, in their order; empty: all zero."""


@dataclass(slots=True)
class EntryResult:
    """Something that counted."""

    kind: str
    attempts: list[Counts] = field(default_factory=list)

    @property
    def statistics(self) -> ExecutionStatistics:
        """Of a test's last attempt; of anything else in all processes."""
        return statistics_of(self.attempts[-1:] if self.kind == "test" else self.attempts)


@dataclass
class RunResult:
    """Everything that the summary and the report say."""

    entries: dict[str, EntryResult] = field(default_factory=dict)
    seconds: float = 0.0
    """Compile time, one kernel after another."""
    batch_seconds: float = 0.0
    """Wall-clock time of batches; of several processes, of the one that took longest."""
    costs: dict[str, float] = field(default_factory=dict)
    """Name of what counted to the compile time that it caused."""
    failures: list[dict[str, Any]] = field(default_factory=list)
    """Kernels that do not compile, and that no test has made anything of."""
    tunes: list[dict[str, Any]] = field(default_factory=list)
    """Each key that was measured: tuner, key, pick, margin, spread, whether it is unstable."""
    notes: list[str] = field(default_factory=list)
    unstored: int = 0
    used_cupy: bool = False
    incomplete: list[str] = field(default_factory=list)
    """Tests during which a worker died: what they counted is lost."""

    @property
    def statistics(self) -> ExecutionStatistics:
        """The sum over everything that counted."""
        entries = self.entries.values()
        return statistics_of(attempt for entry in entries for attempt in entry.attempts)

    def add(self, other: RunResult) -> None:
        """Adds what another process came to."""
        for name, entry in other.entries.items():
            mine = self.entries.setdefault(name, EntryResult(entry.kind))
            mine.attempts += entry.attempts
        self.seconds += other.seconds
        self.batch_seconds = max(self.batch_seconds, other.batch_seconds)
        for name, seconds in other.costs.items():
            self.costs[name] = self.costs.get(name, 0.0) + seconds
        for failure in other.failures:
            self._add_failure(failure)
        self.tunes += other.tunes
        self.notes += [note for note in other.notes if note not in self.notes]
        self.unstored += other.unstored
        self.used_cupy |= other.used_cupy
        self.incomplete += other.incomplete

    def _add_failure(self, failure: dict[str, Any]) -> None:
        """Several workers may have reached the same kernel."""
        for mine in self.failures:
            if mine["id"] == failure["id"]:
                new = [name for name in failure["reached_by"] if name not in mine["reached_by"]]
                mine["reached_by"] = [*mine["reached_by"], *new]
                return
        self.failures.append(failure)

    def to_plain(self) -> dict[str, Any]:
        """As what any serializer takes."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> RunResult:
        """What `to_plain` made."""
        entries = {name: EntryResult(**entry) for name, entry in plain["entries"].items()}
        return cls(**{**plain, "entries": entries})


def result_of(run: GpuRun) -> RunResult:
    """What this process came to."""
    result = RunResult(notes=list(run.notes), used_cupy=run.frameworks.cupy is not None)
    if run.accounting is not None:
        for name, entry in list(run.accounting.entries.items()):
            attempts = [counts_of(attempt.statistics()) for attempt in entry.attempts]
            if entry.kind == "test" or any(attempts):
                result.entries[name] = EntryResult(entry.kind, attempts)
    if counts := counts_of(run.children.statistics()):
        result.entries[CHILDREN] = EntryResult("children", [counts])
    if run.journal is not None:
        result.seconds = run.journal.seconds
        result.batch_seconds = run.queue.batch_seconds
        result.costs = run.journal.cost_by_name()
        result.unstored = run.unstored
    result.tunes = [_tune(measurement) for measurement in run.tunes]
    for failure in run.unhandled:
        result.failures.append({**asdict(failure), "reached_by": list(failure.reached_by)})
    return result


def _tune(measurement: Measurement) -> dict[str, Any]:
    score = measurement.scores.get(measurement.pick)
    return {
        "tuner": measurement.identity.tuner,
        "key": measurement.identity.key,
        "pick": measurement.pick,
        "median": None if score is None else score.median,
        "spread": None if score is None else score.spread,
        "runner_up": measurement.runner_up,
        "margin": measurement.margin,
        "unstable": measurement.unstable,
        "persisted": measurement.persisted,
        "failures": dict(measurement.failures),
    }


def counts_of(statistics: ExecutionStatistics | None) -> Counts:
    """Statistics as a list; empty where everything is zero, as of most tests."""
    if statistics is None:
        return []
    counts = [
        getattr(part, field.name)
        for part in (statistics.compilation, statistics.autotune)
        for field in dataclasses.fields(part)
    ]
    return counts if any(counts) else []


def statistics_of(attempts: Iterable[Counts]) -> ExecutionStatistics:
    """The sum of some counts, as statistics."""
    from gpurt_core.execution import AutotuneStatistics, CompilationStatistics, ExecutionStatistics

    kernels = len(dataclasses.fields(CompilationStatistics))
    width = kernels + len(dataclasses.fields(AutotuneStatistics))
    sums = [0] * width
    for counts in attempts:
        for place, count in enumerate(counts):
            sums[place] += count
    return ExecutionStatistics(
        CompilationStatistics(*sums[:kernels]), AutotuneStatistics(*sums[kernels:])
    )


def abandoned(counts: Counts) -> Counts:
    """What becomes of the counts of a process that is no more: what has not settled never will.

    The kernels themselves are in the environment's queue, where others find them.
    """
    if not counts:
        return counts
    statistics = statistics_of([counts])
    kernels = statistics.compilation
    kernels = replace(kernels, abandoned=kernels.abandoned + kernels.registered - kernels.settled)
    return counts_of(replace(statistics, compilation=kernels))
