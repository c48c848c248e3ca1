"""A line that moves while a long batch compiles."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpurt_core.adapters.cupy.observer import KernelReport
    from pytest_gpurt.run import GpuRun

_QUIET_SECONDS = 1.0
"""A batch that takes less shows nothing."""
_TERMINAL_SECONDS, _LOG_SECONDS = 0.2, 10.0
"""How often the line moves: on a terminal, and in a log, where each move is a line of its own."""


class BatchProgress:
    """Shows how many of the queued kernels are compiled, for the length of a block."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run
        self._reporter: Any = run.config.pluginmanager.get_plugin("terminalreporter")
        self._total = 0
        self._done = 0
        self._began = self._shown = 0.0
        self._last = ""

    def __enter__(self) -> BatchProgress:
        seam, journal = self._run.seam, self._run.journal
        if seam is not None and journal is not None and self._reporter is not None:
            self._total = seam.queued_count
            self._began = self._shown = time.monotonic()
            journal.on_settled = self._settled
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._run.journal is not None:
            self._run.journal.on_settled = None
        if self._last:
            self._write(self._text(), last=True)

    def _settled(self, report: KernelReport) -> None:
        self._done += 1
        now = time.monotonic()
        pause = _TERMINAL_SECONDS if self._reporter.isatty else _LOG_SECONDS
        if now - self._began >= _QUIET_SECONDS and now - self._shown >= pause:
            self._shown = now
            self._write(f"{self._text()}: {report.label}")

    def _text(self) -> str:
        elapsed = max(time.monotonic() - self._began, 1e-9)
        rate = self._done / elapsed
        left = (self._total - self._done) / rate if rate else 0.0
        ending = f", {left:.0f} s left" if self._done < self._total else f" in {elapsed:.1f} s"
        return f"compiling kernels: {self._done} of {self._total}, {rate:.1f} per second{ending}"

    def _write(self, text: str, *, last: bool = False) -> None:
        if self._reporter.isatty:
            self._reporter.rewrite(text[: self._reporter._tw.fullwidth - 1], erase=True)
            if last:
                self._reporter.write_line("")
        else:
            self._reporter.ensure_newline()
            self._reporter.write_line(text)
        self._last = text
