"""What is known of each kernel of the run: who reached it, what became of it, and why.

Told by the seam, on whichever thread it happens.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from gpurt_core.adapters.cupy.observer import KernelReport, SeamObserver
from gpurt_core.execution import IssuedRecorder, KernelOutcome, StatisticsCollector

Listener = Callable[[KernelReport], object]


@dataclass
class KernelFailure:
    """A kernel that does not compile, or lacks a function that was taken from it."""

    id: str
    label: str
    log: str
    reached_by: tuple[str, ...]
    """Tests, fixtures and whatever else counts, by name."""
    arch: str = ""
    """Compute capability without its dot, where it is known."""


@dataclass
class KernelJournal(SeamObserver):
    """Everything that was told."""

    listeners: list[Listener] = field(default_factory=list)
    """Are told of each kernel that settles."""
    labels: dict[str, str] = field(default_factory=dict)
    """Kernel id to what people call it."""
    reached_by: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    """Kernel id to the names of what reached it, in order."""
    arches: dict[str, str] = field(default_factory=dict)
    """Kernel id to what it was compiled for, of those that do not compile."""
    failed: dict[str, str] = field(default_factory=dict)
    """Kernel id to what the compiler said of one that does not compile."""
    seconds: float = 0.0
    """Time spent compiling, over all workers."""
    unflushed: list[str] = field(default_factory=list)
    """Kernels that were reached and have not settled, and that the durable queue has not got."""
    settled_ids: set[str] = field(default_factory=set)
    newly_settled: list[str] = field(default_factory=list)
    """Kernels that have settled, and that the durable queue may still have."""
    unrecorded: list[KernelReport] = field(default_factory=list)
    """What the environment has no record of yet."""
    _reports: dict[StatisticsCollector, list[KernelReport]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _busy: set[str] = field(default_factory=set)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def reached(self, id: str, label: str) -> None:
        """Notes who did."""
        collector = IssuedRecorder.capture().collector
        with self._lock:
            if id not in self.labels:
                self.labels[id] = label
                self.unflushed.append(id)
            if collector is not None and collector.name is not None:
                self.reached_by[id][collector.name] = None
                self._busy.add(collector.name)

    def settled(self, report: KernelReport) -> None:
        """Notes what became of it."""
        with self._lock:
            self.seconds += report.seconds
            self.settled_ids.add(report.id)
            self.newly_settled.append(report.id)
            self.unrecorded.append(report)
            self.labels.setdefault(report.id, report.label)
            for collector in report.tried_by:
                self._reports[collector].append(report)
                if collector.name is not None:
                    self.reached_by[report.id][collector.name] = None
            if report.outcome is KernelOutcome.FAILED:
                self.failed[report.id] = report.log or ""
                self.arches[report.id] = report.arch
            elif report.outcome is not KernelOutcome.ABANDONED:
                self.failed.pop(report.id, None)
        for listener in list(self.listeners):
            listener(report)

    def begin_in_child(self, listener: Listener) -> None:
        """In a forked child: the parent sees to what it has reached."""
        self._lock = threading.RLock()
        self.listeners = [listener]
        self.unflushed, self.unrecorded = [], []

    def unusable(self, id: str, label: str, reason: str) -> None:
        """A kernel that compiled, and is of no use, is as good as failed."""
        with self._lock:
            self.failed[id] = reason

    def reports_of(self, collector: StatisticsCollector) -> list[KernelReport]:
        """The kernels that a collector has counted and that have settled, in that order."""
        with self._lock:
            return list(self._reports.get(collector, ()))

    def cost_by_name(self) -> dict[str, float]:
        """Seconds of compiling, by what the kernels counted to."""
        with self._lock:
            costs: dict[str, float] = defaultdict(float)
            for collector, reports in self._reports.items():
                # The first that asked for a kernel pays for it.
                costs[collector.name or "?"] += sum(
                    report.seconds for report in reports if report.tried_by[0] is collector
                )
            return dict(costs)

    def was_busy(self, name: str) -> bool:
        """Whether something of this name has reached a kernel."""
        with self._lock:
            return name in self._busy

    def reached_in(self, name: str) -> list[str]:
        """The ids of the kernels that something of this name has reached."""
        with self._lock:
            return [id for id, names in self.reached_by.items() if name in names]

    def failures(self, ids: Iterable[str] | None = None) -> list[KernelFailure]:
        """The kernels that failed."""
        with self._lock:
            chosen = list(self.failed) if ids is None else [id for id in ids if id in self.failed]
            return [
                KernelFailure(
                    id,
                    self.labels.get(id, "?"),
                    self.failed[id],
                    tuple(self.reached_by[id]),
                    self.arches.get(id, ""),
                )
                for id in chosen
            ]
