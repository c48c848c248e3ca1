"""What the plugin prints: a line in the header, and a summary."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pytest_gpurt.options import GpuMode

if TYPE_CHECKING:
    from pytest_gpurt.results import RunResult
    from pytest_gpurt.run import GpuRun

_MOST_TESTS = 3
_SHORT = 0.05
"""Less compile time than that is not worth a line (seconds)."""
_MOST_LOG_LINES = 12
_MUCH_SKIPPED = 0.25
"""From this share of the tests on, a warm-up that skipped them is said to be partial."""


def header_of(run: GpuRun) -> str:
    """The line in pytest's header."""
    options = run.options
    assert options.mode is not None
    parts = [options.mode.value]
    if options.mode is GpuMode.COMPILE_ONLY:
        names = ", ".join(options.architectures)
        hint = "" if options.architectures_given else " (the default: see --gpu-arch)"
        parts[0] += f" for {names}{hint}, no GPU is used"
    if run.environment is not None:
        path = os.path.relpath(run.environment.path, run.config.rootpath)
        shown = str(run.environment.path) if path.startswith("..") else path
        parts.append(f"environment: {shown} ({_kernels(run.environment_before)})")
    return f"gpurt: {'; '.join(parts)}"


def write_summary(run: GpuRun, reporter: Any) -> None:
    """Writes what the run came to, as far as there is something to say."""
    result = run.result
    for failure in result.failures:
        _show_failure(reporter, failure)
    lines = list(_lines(run, reporter, result))
    if not lines:
        return
    mode = run.options.mode
    reporter.write_sep("-", f"gpurt: {mode.value}" if mode else "gpurt")
    for line in lines:
        reporter.write_line(line)


def _lines(run: GpuRun, reporter: Any, result: RunResult) -> Iterator[str]:
    if result.used_cupy:
        yield from _count_lines(result, always=run.options.mode is not None)
    elif result.statistics.compilation.registered or result.statistics.autotune.registered:
        yield from _count_lines(result, always=False)
    if run.options.mode is not None:
        yield from _time_lines(result, gathers=run.gathers)
    for tune in result.tunes:
        yield f"  {_tune_line(tune)}"
    if run.gathers:
        yield from _partial_lines(reporter, result, run.queue.left)
    for note in dict.fromkeys(result.notes):
        yield f"warning: {note}"


def _time_lines(result: RunResult, *, gathers: bool) -> Iterator[str]:
    if result.seconds < _SHORT:
        return
    if gathers and result.batch_seconds:
        yield (
            f"compile time: {result.batch_seconds:.1f} s in batches; "
            f"{result.seconds:.1f} s one after another"
        )
    else:
        yield f"compile time: {result.seconds:.1f} s"
    costs = sorted(result.costs.items(), key=lambda pair: -pair[1])[:_MOST_TESTS]
    shown = [f"  {seconds:6.1f} s  {name}" for name, seconds in costs if seconds >= _SHORT]
    if shown:
        yield from ["most compile time:", *shown]


def _count_lines(result: RunResult, *, always: bool) -> Iterator[str]:
    kernels, tunes = result.statistics.compilation, result.statistics.autotune
    if kernels.registered or always:
        shown = [
            f"{kernels.registered} registered",
            f"{kernels.compiled} compiled",
            f"{kernels.loaded} loaded",
            f"{kernels.failed} failed",
        ]
        for number, name in (
            (kernels.abandoned, "abandoned"),
            (kernels.refused, "refused by the device"),
            (kernels.stored, "stored"),
        ):
            shown += [f"{number} {name}"] if number else []
        yield "kernels: " + ", ".join(shown)
    if tunes.registered or tunes.recalled:
        yield (
            f"tunes: {tunes.registered} registered, {tunes.measured} measured, "
            f"{tunes.failed} failed, {tunes.persisted} persisted, {tunes.recalled} recalled"
        )


def _tune_line(tune: dict[str, Any]) -> str:
    """A key, what was picked for it, and how sure that is."""
    text = f"{tune['tuner']} {tune['key']}: {tune['pick']}"
    if tune["median"] is None:
        return f"{text}, unmeasured: every candidate failed"
    text += f" {tune['median'] * 1e6:.1f} us (spread {tune['spread'] * 1e6:.1f} us)"
    if tune["runner_up"] is not None:
        text += f", {tune['margin']:.0%} ahead of {tune['runner_up']}"
    return f"{text}, unstable" if tune["unstable"] else text


def _partial_lines(reporter: Any, result: RunResult, left: int) -> Iterator[str]:
    """What keeps this from being a whole warm-up."""
    if left and not result.unstored:
        yield f"{_kernels(left)} gathered and not compiled: the next run has them"
    if result.unstored:
        stored = result.statistics.compilation.stored
        yield f"stored {stored} of {stored + result.unstored}"
    if result.incomplete:
        yield f"incomplete: a worker died in {', '.join(result.incomplete)}"
    counted = ("passed", "failed", "skipped", "discarded", "xfailed", "xpassed")
    everything = sum(len(reporter.stats.get(category, [])) for category in counted)
    skipped = len(reporter.stats.get("skipped", []))
    if everything and skipped / everything >= _MUCH_SKIPPED:
        yield (
            f"not warm: {skipped} of {everything} tests were skipped, "
            "and the kernels of these are not in the environment (-rs says why)"
        )


def _show_failure(reporter: Any, failure: dict[str, Any]) -> None:
    reporter.write_sep("_", f"kernel {failure['label']} does not compile", red=True)
    reporter.write_line(f"reached by: {', '.join(failure['reached_by'])}")
    lines = failure["log"].splitlines()
    for line in lines[:_MOST_LOG_LINES]:
        reporter.write_line(f"    {line}")
    if len(lines) > _MOST_LOG_LINES:
        reporter.write_line(f"    ... {len(lines) - _MOST_LOG_LINES} lines more in the report")


def _kernels(number: int) -> str:
    return f"{number} kernel" if number == 1 else f"{number} kernels"
