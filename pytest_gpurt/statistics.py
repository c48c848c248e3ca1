"""What `gpu_stats` is: a reader of the test's counts, with expectations."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpurt_core.execution import (
    AutotuneStatistics,
    CompilationStatistics,
    ExecutionStatistics,
    StatisticsCollector,
    StatisticsReader,
)

if TYPE_CHECKING:
    from gpurt_core.adapters.cupy.observer import KernelReport
    from pytest_gpurt.run import GpuRun

_TUNES = ("measured", "persisted", "recalled")
_KERNELS = tuple(field.name for field in dataclasses.fields(CompilationStatistics))
_PROMISED = ("obtained", "measured", "registered")
"""What a compile-only pass checks against what was registered, without waiting for a batch."""


class StatisticsMismatch(AssertionError):
    """Counts that are not what was expected of them."""


def _registered(statistics: ExecutionStatistics) -> int:
    return statistics.compilation.registered + statistics.autotune.registered


class GpuStatistics(StatisticsReader):
    """The counts of one test, or of a block of it; true in every mode.

    In a compile-only pass, reading a count compiles what is queued first. `expect` does not, as
    long as it is asked for kernels obtained and tunes measured: a suite full of expectations still
    compiles in one batch.
    """

    def __init__(
        self,
        run: GpuRun,
        collector: StatisticsCollector,
        before: ExecutionStatistics | None = None,
        skipped: int = 0,
    ) -> None:
        """`before` is what was counted when the block began, `skipped` the kernels of then."""
        super().__init__(collector)
        self._run = run
        self._before = before or ExecutionStatistics()
        self._skipped = skipped
        self._ended: ExecutionStatistics | None = None
        """What was counted when the block ended."""

    def statistics(self) -> ExecutionStatistics:
        """The counts of this moment."""
        self._run.queue.compile()
        return self._now()

    @property
    def compilation(self) -> CompilationStatistics:
        """The counts of kernels of this moment."""
        return self.statistics().compilation

    @property
    def autotune(self) -> AutotuneStatistics:
        """The counts of tunes of this moment."""
        return self.statistics().autotune

    @property
    def kernels(self) -> list[KernelReport]:
        """The kernels that have been counted: name, outcome, seconds, in the order of settling."""
        self._run.queue.compile()
        journal = self._run.journal
        return (
            []
            if journal is None
            else journal.reports_of(self._collector)[self._skipped : self._settled_in_block()]
        )

    def expect(self, **expected: int) -> None:
        """Raises `StatisticsMismatch`, with a list of the kernels, where a count is another one.

        The counts are those of kernels (`obtained=3`, `compiled=0`, ...) and of tunes
        (`measured=1`, `persisted`, `recalled`).
        """
        __tracebackhide__ = True
        for name in expected:
            if name not in (*_KERNELS, *_TUNES, "obtained"):
                known = ", ".join(("obtained", *_KERNELS, *_TUNES))
                raise TypeError(f"expect() knows no count {name!r}: there are {known}")
        if not all(name in _PROMISED for name in expected):
            self._run.queue.compile()
        wrong = {name: n for name, n in expected.items() if self._count(name) != n}
        if wrong:
            counted = {name: self._count(name) for name in wrong}
            raise StatisticsMismatch(self._explain(wrong, counted))

    @contextmanager
    def during(self) -> Iterator[GpuStatistics]:
        """Statistics of the work of a block."""
        journal = self._run.journal
        skipped = 0 if journal is None else len(journal.reports_of(self._collector))
        block = GpuStatistics(self._run, self._collector, self._raw(), skipped)
        try:
            yield block
        finally:
            block._ended = self._raw()

    def _raw(self) -> ExecutionStatistics:
        return self._collector.statistics()

    def _now(self) -> ExecutionStatistics:
        now, ended = self._raw(), self._ended
        # As long as nothing has registered since, what settles is of the block.
        if ended is not None and _registered(now) > _registered(ended):
            now = ended
        return now - self._before

    def _settled_in_block(self) -> int | None:
        """Where its kernels end in the list of the test; `None`: nothing has come since."""
        ended = self._ended
        if ended is None or _registered(self._raw()) == _registered(ended):
            return None
        return self._skipped + (ended - self._before).compilation.settled

    def _count(self, name: str) -> int:
        kernels, tunes = self._now().compilation, self._now().autotune
        if name in _TUNES:
            if name == "measured" and self._run.gathers:
                return tunes.registered - tunes.failed - tunes.abandoned
            return int(getattr(tunes, name))
        if name == "obtained" and self._run.gathers:
            return kernels.registered - kernels.failed - kernels.abandoned
        return int(getattr(kernels, name))

    def _explain(self, wrong: dict[str, int], counted: dict[str, int]) -> str:
        texts = [f"{name}: {counted[name]}, expected {number}" for name, number in wrong.items()]
        kernels = self.kernels
        lines = [f"  {self._describe(report)}" for report in kernels] or ["  no kernel settled"]
        return "\n".join([f"gpu_stats: {'; '.join(texts)}", *lines])

    def _describe(self, report: KernelReport) -> str:
        text = f"{report.label}: {report.outcome.value}"
        if report.outcome.value != "compiled":
            return text
        return f"{text} in {report.seconds:.2f} s{self._why(report)}"

    def _why(self, report: KernelReport) -> str:
        from gpurt_core.adapters.cupy.explain import explain_missing

        if not report.parts:
            return ""
        others = [p for p in self._run.parts_kept(report.label) if p != report.parts]
        return f" ({explain_missing(report.parts, others)})"
