"""What a test's outcome is in a pass that drops launches.

A failure after reading the device back means nothing: the test is *discarded*. A failure without
that may come from a kernel that was queued where CuPy would have compiled it: the test runs once
more, with each kernel compiled where it is asked for, and that run is its result.
"""

from __future__ import annotations

import ast
import re
import sys
import unittest
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

from pytest_gpurt.forgetting import keeping_last_failed

if TYPE_CHECKING:
    from pytest_gpurt.reading import ReadingHooks
    from pytest_gpurt.run import GpuRun

DISCARDED = "discarded"
EAGER_MARKER = "gpu_eager"


class OutcomeHooks:
    """Decides outcomes, and runs tests again."""

    def __init__(self, run: GpuRun, reading: ReadingHooks) -> None:
        self._run = run
        self._reading = reading
        self._first_attempt = False
        self._failed_unread = False
        self._absences_before = 0
        self._broken: dict[str, str] = {}
        """Packages whose import has failed, and for want of what."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        """Gathers a test's kernels; leaves it to others to run it where that was not enough."""
        if not self._run.gathers:
            return None
        if self._run.always_eager or item.get_closest_marker(EAGER_MARKER) is not None:
            self._run.frameworks.run_eagerly(item)
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = self._gather(item, nextitem)
        if self._failed_unread or (_has_reruns(item) and any(report.failed for report in reports)):
            self._prepare_again(item)
            return None
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _gather(self, item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
        self._first_attempt, self._failed_unread = True, False
        try:
            return runtestprotocol(item, log=False, nextitem=nextitem)
        finally:
            self._first_attempt = False

    def _prepare_again(self, item: pytest.Item) -> None:
        self._run.frameworks.run_eagerly(item)
        forget_instance(item)
        info = getattr(item, "_fixtureinfo", None)
        for definitions in () if info is None else info.name2fixturedefs.values():
            for definition in definitions:
                cached = definition.cached_result
                if cached is not None and cached[2] is not None:
                    definition.cached_result = None  # it failed: it is tried again, too

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Turns a failure on meaningless data into what it is."""
        with self._reading.overlooking():
            report = yield
        if not self._run.discards or not report.failed:
            return report
        self._reading.listen_to_children()
        absence = self._new_absence()
        if absence is not None and not _is_about_statistics(call.excinfo):
            _skip(report, call, absence)
        elif self._reading.has_read(item) and not _is_about_statistics(call.excinfo):
            _discard(report, call)
        elif self._first_attempt and self._reached_a_kernel(item):
            self._failed_unread = True
            _silence(report, call)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """A module that cannot be imported for want of something is skipped, and says of what."""
        before = len(self._absences)
        report = yield
        if not self._run.discards or not report.failed:
            return report
        packages, new = _packages_in(str(report.longrepr)), self._absences[before:]
        # What failed to be imported half-way fails in another way for whoever imports it next.
        reason = (
            new[0] if new else next(filter(None, map(self._broken.get, sorted(packages))), None)
        )
        if reason is not None and _is_import(report):
            self._broken |= dict.fromkeys(packages - self._broken.keys(), reason)
            report.outcome = "skipped"
            report.longrepr = (str(collector.path), 1, f"Skipped: {reason}")
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        """What is missing on this machine is noted for each attempt."""
        self._absences_before = len(self._absences)
        return (yield)

    @property
    def _absences(self) -> Sequence[str]:
        device = self._run.frameworks.null_device
        return () if device is None else device.absences

    def _new_absence(self) -> str | None:
        """Something that the test asked for and that cannot be had on this machine."""
        new = [*self._absences[self._absences_before :], *self._reading.children_missed]
        return new[0] if new else None

    def _reached_a_kernel(self, item: pytest.Item) -> bool:
        """One that reached none would fail in the same way."""
        if self._run.journal is None or self._run.accounting is None:
            return False
        counted = self._run.attempt_of(item).statistics().compilation.registered
        return counted > 0 or self._run.journal.was_busy(item.nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Iterator[None]:
        """For `--lf` a discarded test is as it was: that it does not fail here means nothing."""
        if not is_discarded(report):
            return (yield)
        with keeping_last_failed(self._run.config):
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        """A category of its own."""
        if is_discarded(report):
            return DISCARDED, "D", ("DISCARDED", {"yellow": True})
        return None


def is_discarded(report: pytest.TestReport) -> bool:
    """Whether its test failed on meaningless data."""
    return getattr(report, "gpurt_discarded", False)


def _has_reruns(item: pytest.Item) -> bool:
    """Whether another plugin runs the test until it passes: it is to see the failure."""
    asked_for = getattr(item.config.option, "reruns", None)
    return bool(asked_for) or item.get_closest_marker("flaky") is not None


def forget_instance(item: pytest.Item) -> None:
    """The next attempt at a method gets an instance of its own, as every test does."""
    cls = getattr(item, "cls", None)
    if isinstance(item, pytest.Function) and cls and not issubclass(cls, unittest.TestCase):
        vars(item).pop("_instance", None)
        vars(item).pop("_obj", None)


_IMPORTED = re.compile(
    r"(?:site|dist)-packages/(\w+)|^[E>\s]*(?:from|import)\s+(\w+)|import name .* from '(\w+)",
    re.MULTILINE,
)


def _packages_in(text: str) -> set[str]:
    """The packages, not of Python itself, that an error of an import speaks of."""
    names = {name for match in _IMPORTED.finditer(text) for name in match.groups() if name}
    return names - sys.stdlib_module_names - {"_pytest", "pytest", "pluggy", "numpy"}


def _is_import(report: pytest.CollectReport) -> bool:
    text = str(report.longrepr)
    return "ImportError" in text or "get_nvcc_path" in text or "'NoneType'" in text


def _skip(report: pytest.TestReport, call: pytest.CallInfo[None], reason: str) -> None:
    path, line, _ = report.location
    report.outcome = "skipped"
    report.longrepr = (path, (line or 0) + 1, f"Skipped: {reason}")
    call.excinfo = None


def _discard(report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
    path, line, _ = report.location
    said = "" if call.excinfo is None else call.excinfo.exconly(tryshort=True).splitlines()[0]
    reason = f"Discarded: read device memory that no launch had written; then: {said}"
    report.outcome = "skipped"
    report.longrepr = (path, (line or 0) + 1, reason)
    vars(report)["gpurt_discarded"] = True  # travels with the report, to other processes too
    call.excinfo = None  # no debugger for it


def _silence(report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
    """A subtest of a first attempt is logged at once, and must not fail the run."""
    report.outcome = "passed"
    report.longrepr = None
    call.excinfo = None


def _is_about_statistics(excinfo: pytest.ExceptionInfo[BaseException] | None) -> bool:
    """Whether the failing statement looked at counts, which mean what they say."""
    from gpurt_core.execution import (
        AutotuneStatistics,
        CompilationStatistics,
        ExecutionStatistics,
        StatisticsReader,
    )
    from pytest_gpurt.statistics import StatisticsMismatch

    if excinfo is None:
        return False
    if isinstance(excinfo.value, StatisticsMismatch):
        return True
    if not isinstance(excinfo.value, AssertionError):
        return False
    kinds = (StatisticsReader, ExecutionStatistics, CompilationStatistics, AutotuneStatistics)
    frame = excinfo.traceback[-1]
    names = _names_in(_statement_of(frame))
    values = {**frame.frame.f_globals, **frame.frame.f_locals}
    return any(isinstance(values.get(name), kinds) for name in names)


def _statement_of(frame: Any) -> str:
    """The failing statement; nothing where the source is not there, as of compiled code."""
    try:
        return str(frame.statement)
    except (AssertionError, IndexError, OSError):
        return ""


def _names_in(statement: str) -> set[str]:
    try:
        tree = ast.parse(statement.strip())
    except SyntaxError:
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
