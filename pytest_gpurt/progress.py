"""A line that moves while kernels compile: in this process, or in workers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gpurt_core.compilation.sharing import KERNEL_CLAIM

if TYPE_CHECKING:
    from gpurt_core.environment import Environment, QueueProgress
    from pytest_gpurt.run import GpuRun

_QUIET_SECONDS = 1.0
"""Kernels that compile in less show nothing."""
_TERMINAL_SECONDS, _LOG_SECONDS = 0.5, 10.0
"""How often the line moves: on a terminal, and in a log, where each move is a line of its own."""


class CompileProgress:
    """Shows how far the queue of the environment is, for the length of a block.

    The environment knows what all workers do. While tests report, they are what is shown.
    """

    def __init__(self, run: GpuRun, is_due: Callable[[], bool] = lambda: True) -> None:
        """`is_due` says whether it may be shown yet."""
        self._run = run
        self._is_due = is_due
        self._reporter: Any = run.config.pluginmanager.get_plugin("terminalreporter")
        self._began = self._shown = 0.0
        self._made_before = 0
        self._last: QueueProgress | None = None
        self._heard = False
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> CompileProgress:
        if self._reporter is not None and self._run.environment is not None:
            self._thread = threading.Thread(
                target=self._watch,
                args=(self._run.environment,),
                name="gpurt-progress",
                daemon=True,
            )
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()
        if self._last is not None:
            self._write(self._ending(self._last), last=True)

    def heard(self) -> None:
        """A test has reported."""
        self._heard = True

    def _watch(self, environment: Environment) -> None:
        pause = _TERMINAL_SECONDS if self._reporter.isatty else _LOG_SECONDS
        self._begin(environment)
        while not self._done.wait(_TERMINAL_SECONDS):
            now = time.monotonic()
            if self._heard or not self._is_due():
                self._heard = False
                self._begin(environment)
            elif now - self._began >= _QUIET_SECONDS and now - self._shown >= pause:
                self._show(environment.queue_progress(KERNEL_CLAIM), now)

    def _begin(self, environment: Environment) -> None:
        self._last = None
        self._began = self._shown = time.monotonic()
        self._made_before = environment.queue_progress(KERNEL_CLAIM).made

    def _show(self, progress: QueueProgress, now: float) -> None:
        if progress.left and progress.made > self._made_before:
            self._shown, self._last = now, progress
            self._write(self._text(progress, now))

    def _text(self, progress: QueueProgress, now: float) -> str:
        done = self._made(progress)
        rate = done / max(now - self._began, 1e-9)
        text = f"{self._so_far(done, done + progress.left)}, {rate:.1f} per second"
        text += f", {progress.left / rate:.0f} s left"
        return f"{text}: {progress.at_work[0]}" if progress.at_work else text

    def _ending(self, last: QueueProgress) -> str:
        assert self._run.environment is not None
        progress = self._run.environment.queue_progress(KERNEL_CLAIM)
        done, total = self._made(progress), self._made(last) + last.left
        seconds = time.monotonic() - self._began
        return f"{self._so_far(done, max(done, total))} in {seconds:.1f} s"

    def _made(self, progress: QueueProgress) -> int:
        return progress.made - self._made_before

    def _so_far(self, done: int, total: int) -> str:
        return f"compiling kernels: {done} of {total}"

    def _write(self, text: str, *, last: bool = False) -> None:
        if self._reporter.isatty:
            self._reporter.rewrite(text[: self._reporter._tw.fullwidth - 1], erase=True)
            if last:
                self._reporter.write_line("")
        else:
            self._reporter.ensure_newline()
            self._reporter.write_line(text)
