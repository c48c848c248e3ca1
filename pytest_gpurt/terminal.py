"""What the plugin prints: a line in the header, and a summary."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_gpurt.options import GpuMode

if TYPE_CHECKING:
    from pytest_gpurt.accounting import Entry
    from pytest_gpurt.batch import BatchHooks
    from pytest_gpurt.run import GpuRun

_MOST_TESTS = 3
_MOST_LOG_LINES = 12
_MUCH_SKIPPED = 0.25
"""From this share of the tests on, a warm-up that skipped them is said to be partial."""


class TerminalHooks:
    """Header and summary."""

    def __init__(self, run: GpuRun, batch: BatchHooks) -> None:
        self._run = run
        self._batch = batch

    @pytest.hookimpl
    def pytest_report_header(self) -> list[str]:
        """The mode, what is compiled for, and the environment."""
        options = self._run.options
        if options.mode is None:
            return []
        parts = [options.mode.value]
        if options.mode is GpuMode.COMPILE_ONLY:
            names = ", ".join(options.architectures)
            hint = "" if options.architectures_given else " (the default: see --gpu-arch)"
            parts[0] += f" for {names}{hint}, no GPU is used"
        if self._run.environment is not None:
            path = os.path.relpath(self._run.environment.path, self._run.config.rootpath)
            shown = str(self._run.environment.path) if path.startswith("..") else path
            parts.append(f"environment: {shown} ({_kernels(self._run.environment_before)})")
        return [f"gpurt: {'; '.join(parts)}"]

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Some lines, where there is something to say."""
        writer = terminalreporter
        for failure in self._batch.unhandled:
            self._show_failure(writer, failure)
        lines = list(self._lines(writer))
        if not lines:
            return
        mode = self._run.options.mode
        writer.write_sep("-", f"gpurt: {mode.value}" if mode else "gpurt")
        for line in lines:
            writer.write_line(line)

    def _lines(self, writer: Any) -> Iterator[str]:
        run = self._run
        accounting = run.accounting
        if accounting is not None and run.seam is not None:
            kernels = accounting.total.compilation
            if kernels.registered or run.options.mode is not None:
                yield self._kernel_line()
            tunes = accounting.total.autotune
            if tunes.registered or tunes.recalled:
                yield (
                    f"tunes: {tunes.registered} registered, {tunes.measured} measured, "
                    f"{tunes.failed} failed, {tunes.recalled} recalled"
                )
            if run.options.mode is not None:
                yield from self._time_lines()
                yield from self._costliest()
        yield from self._partial(writer)
        for note in dict.fromkeys(run.notes):
            yield f"warning: {note}"

    def _kernel_line(self) -> str:
        assert self._run.accounting is not None
        kernels = self._run.accounting.total.compilation
        counts = [
            (kernels.registered, "registered"),
            (kernels.compiled, "compiled"),
            (kernels.loaded, "loaded"),
            (kernels.failed, "failed"),
        ]
        optional = [
            (kernels.abandoned, "abandoned"),
            (kernels.refused, "refused by the device"),
            (kernels.stored, "stored"),
        ]
        shown = [*counts, *(pair for pair in optional if pair[0])]
        return "kernels: " + ", ".join(f"{number} {name}" for number, name in shown)

    def _time_lines(self) -> Iterator[str]:
        journal, batch = self._run.journal, self._run.batch_seconds
        if journal is None or not journal.seconds:
            return
        work = journal.seconds
        if self._run.gathers and batch:
            yield f"compile time: {batch:.1f} s in batches; {work:.1f} s one after another"
        else:
            yield f"compile time: {work:.1f} s"

    def _costliest(self) -> Iterator[str]:
        assert self._run.journal is not None
        costs = sorted(self._run.journal.cost_by_name().items(), key=lambda pair: -pair[1])
        shown = [f"{name} ({seconds:.1f} s)" for name, seconds in costs[:_MOST_TESTS] if seconds]
        if shown:
            yield "most compile time: " + ", ".join(shown)

    def _partial(self, writer: Any) -> Iterator[str]:
        if not self._run.gathers:
            return
        if self._batch.left:
            yield f"{_kernels(self._batch.left)} gathered and not compiled: the next run has them"
        if self._run.unstored:
            total = self._run.unstored + self._stored()
            yield f"stored {self._stored()} of {total}: {self._trouble()}"
        skipped = len(writer.stats.get("skipped", []))
        everything = sum(
            len(reports)
            for category, reports in writer.stats.items()
            if category in ("passed", "failed", "skipped", "discarded", "xfailed", "xpassed")
        )
        if everything and skipped / everything >= _MUCH_SKIPPED:
            yield (
                f"not warm: {skipped} of {everything} tests were skipped, "
                "and the kernels of these are not in the environment (-rs says why)"
            )

    def _stored(self) -> int:
        assert self._run.accounting is not None
        return self._run.accounting.total.compilation.stored

    def _trouble(self) -> str:
        environment = self._run.environment
        return (environment.trouble if environment else None) or "the environment refused them"

    def _show_failure(self, writer: Any, failure: Any) -> None:
        writer.write_sep("_", f"kernel {failure.label} does not compile", red=True)
        writer.write_line(f"reached by: {', '.join(failure.reached_by) or 'nothing that counts'}")
        lines = failure.log.splitlines()
        for line in lines[:_MOST_LOG_LINES]:
            writer.write_line(f"    {line}")
        if len(lines) > _MOST_LOG_LINES:
            writer.write_line(f"    ... {len(lines) - _MOST_LOG_LINES} lines more in the report")


def _kernels(number: int) -> str:
    return f"{number} kernel" if number == 1 else f"{number} kernels"


def sorted_entries(entries: dict[str, Entry]) -> list[Entry]:
    """Tests first, in the order in which they ran; then what is wider."""
    return sorted(entries.values(), key=lambda entry: entry.kind != "test")
