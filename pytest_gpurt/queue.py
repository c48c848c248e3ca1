"""The queue of the run: compiled in batches, and written down for whoever comes after a kill."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpurt_core.adapters.cupy.observer import KernelReport
    from gpurt_core.adapters.cupy.seam import CupySeam
    from gpurt_core.environment import Environment, QueuedEntry
    from pytest_gpurt.kernels import KernelJournal
    from pytest_gpurt.run import GpuRun

_SHARE = 0.05
"""Of the time of a run, what writing down may take."""


class KernelQueue:
    """What is gathered and not compiled yet, in this process and in the environment."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run
        self.batch_seconds = 0.0
        """Wall-clock time spent on compiling in batches."""
        self._next_flush = 0.0
        self._lock = threading.RLock()

    def __len__(self) -> int:
        seam = self._run.frameworks.cupy
        return 0 if seam is None else seam.queued_count

    def compile(self) -> None:
        """Compiles what is queued, and takes the time."""
        began = time.perf_counter()
        frameworks = self._run.frameworks
        listeners = [] if self._run.journal is None else self._run.journal.listeners
        listeners.append(self._settled)
        try:
            self._run.devices.compile_queued()
            if frameworks.opencl is not None:
                frameworks.opencl.compile_queued()
            if frameworks.cupy is not None and frameworks.cupy.queued_count:
                self._longest_first(frameworks.cupy)
                frameworks.cupy.compile_queued()
        finally:
            listeners.remove(self._settled)
            self.batch_seconds += time.perf_counter() - began
            self.flush(force=True)

    def _settled(self, report: KernelReport) -> None:
        """What a batch has done is written down as it goes: it may be killed."""
        self.flush()

    def _longest_first(self, seam: CupySeam) -> None:
        """A kernel that takes long, begun last, would keep all others waiting."""
        if self._run.environment is None:
            return
        ids = seam.queued_ids()
        known = self._run.environment.expected_seconds(ids, [seam.label_of(id) for id in ids])
        if known:
            seam.prioritise(known, sum(known.values()) / len(known))

    @property
    def left(self) -> int:
        """Kernels that were gathered, by whichever worker, and are left for the next run."""
        from gpurt_core.compilation.sharing import KERNEL_CLAIM

        if self._run.environment is None or not self._run.gathers:
            return 0
        return max(len(self), self._run.environment.queue_progress(KERNEL_CLAIM).left)

    def flush(self, *, force: bool = False) -> None:
        """Writes down what was gathered and not compiled yet, so that a killed run leaves it."""
        run = self._run
        if run.environment is None or run.journal is None or run.frameworks.cupy is None:
            return
        began = time.monotonic()
        if not force and began < self._next_flush:
            return
        with self._lock:
            self._write_down(run.environment, run.journal, run.frameworks.cupy)
        ended = time.monotonic()
        self._next_flush = ended + (ended - began) / _SHARE

    def _write_down(self, environment: Environment, journal: KernelJournal, seam: CupySeam) -> None:
        from gpurt_core.adapters.cupy.payload import encode_kernel
        from gpurt_core.environment import QueuedEntry

        ids, journal.unflushed = journal.unflushed, []
        waiting = [id for id in ids if id not in journal.settled_ids]
        if waiting:
            kernels = seam.kernels
            environment.queue(
                [QueuedEntry(id, encode_kernel(kernels[id]), kernels[id].label) for id in waiting]
            )
        self._record(environment, journal)
        settled, journal.newly_settled = journal.newly_settled, []
        if settled:
            environment.dequeue(settled)

    def _record(self, environment: Environment, journal: KernelJournal) -> None:
        """Notes how long each kernel took: the next run begins with the longest."""
        from gpurt_core.environment import CompilationRecord
        from gpurt_core.execution import KernelOutcome

        reports, journal.unrecorded = journal.unrecorded, []
        records = [
            CompilationRecord(
                id=report.id,
                label=report.label,
                seconds=report.seconds,
                outcome=report.outcome.value,
                arch=report.arch,
                compiler=report.parts.get("compiler", ""),
                log=report.log,
                at=time.time(),
            )
            for report in reports
            if report.outcome in (KernelOutcome.COMPILED, KernelOutcome.FAILED)
        ]
        if records:
            environment.record_compilations(records)

    def take(self, entries: Sequence[QueuedEntry]) -> None:
        """Queues kernels that others have written down; what is of no use here is taken off."""
        from gpurt_core.adapters.cupy.payload import decode_kernel

        environment, seam = self._run.environment, self._run.frameworks.cupy
        assert environment is not None
        assert seam is not None
        for entry in entries:
            kernel = decode_kernel(entry.payload)
            if kernel is None or not seam.restore(entry.id, kernel):
                environment.dequeue([entry.id])
