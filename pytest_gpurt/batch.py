"""The end of a compile-only pass: one batch, and another look at the tests whose kernels failed.

A kernel that the batch finds not to compile was queued where CuPy would have raised. The tests that
reached it run again, eagerly: one that expects the error, or falls back, has handled it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_gpurt.progress import BatchProgress
from pytest_gpurt.scopes import fixture_name

if TYPE_CHECKING:
    from pytest_gpurt.kernels import KernelFailure
    from pytest_gpurt.run import GpuRun


class BatchHooks:
    """Compiles what the session has gathered."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run
        self.unhandled: list[KernelFailure] = []
        """Kernels that do not compile, and that no test has made anything of."""
        self.left = 0
        """Kernels that were gathered, and are left for the next run."""
        self._earlier: dict[str, list[pytest.TestReport]] = {}
        self._again: list[pytest.TestReport] | None = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """After the last test."""
        try:
            result = yield
        except BaseException:
            self._leave_queue()
            raise
        if self._run.gathers and not session.config.option.collectonly:
            self._finish(session)
        return result

    def _leave_queue(self) -> None:
        if self._run.seam is not None:
            self.left = self._run.seam.queued_count
            self._run.flush(force=True)

    def _finish(self, session: pytest.Session) -> None:
        if session.shouldstop or session.shouldfail:
            self._leave_queue()
            return
        self._restore()
        with BatchProgress(self._run):
            self._run.compile_queued()
        if self._run.seam is not None:
            self._look_again(session)
            self._run.compile_queued()
            self._settle_failures()
            self._run.flush(force=True)

    def _restore(self) -> None:
        """Queues what a run that was killed has left."""
        if self._run.environment is None or self._run.seam is None:
            return
        from gpurt_core.adapters.cupy.payload import decode_kernel

        assert self._run.accounting is not None
        self._run.flush(force=True)
        with self._run.accounting.counting_to_fixture("an earlier run"):
            for entry in self._run.environment.queued():
                kernel = decode_kernel(entry.payload)
                if entry.id in self._run.seam.kernels:
                    continue
                if kernel is None or not self._run.seam.restore(entry.id, kernel):
                    self._run.environment.dequeue([entry.id])

    def _look_again(self, session: pytest.Session) -> None:
        items = self._concerned(session)
        if not items:
            return
        self._run.always_eager = True
        tests = "1 test" if len(items) == 1 else f"{len(items)} tests"
        self._say(f"once more, because kernels do not compile: {tests}")
        try:
            for item, following in zip(items, [*items[1:], None], strict=True):
                self._run_again(item, following)
        finally:
            self._run.always_eager = False

    def _say(self, text: str) -> None:
        reporter: Any = self._run.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(text)
            reporter.currentfspath = None

    def _concerned(self, session: pytest.Session) -> list[pytest.Item]:
        """The tests that reached a kernel that failed, or use a fixture that did."""
        assert self._run.journal is not None
        names = {name for failure in self._run.journal.failures() for name in failure.reached_by}
        names -= self._run.eager_tests
        return [item for item in session.items if names & _names_of(item)]

    def _run_again(self, item: pytest.Item, following: pytest.Item | None) -> None:
        """The result of this run stands in the place of the earlier one."""
        self._again = []
        try:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        finally:
            self._again = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Iterator[None]:
        """Forgets, in the terminal's summary, what an earlier run of the test had come to."""
        if self._again is not None:
            _forget(self._run.config, report.nodeid, first=not self._again)
            self._again.append(report)
        return (yield)

    def _settle_failures(self) -> None:
        """What tests made of a failing kernel when they ran eagerly is their own result."""
        assert self._run.journal is not None
        eager = self._run.eager_tests
        self.unhandled = [
            failure
            for failure in self._run.journal.failures()
            if not any(name in eager for name in failure.reached_by)
        ]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """A kernel that nobody has handled, or that could not be stored, makes the run fail."""
        bad = self.unhandled or (self._run.gathers and self._run.unstored)
        if bad and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)


def _names_of(item: pytest.Item) -> set[str]:
    """By which names a test and what it uses count."""
    info = getattr(item, "_fixtureinfo", None)
    definitions = () if info is None else info.name2fixturedefs.values()
    return {item.nodeid, *(fixture_name(one) for many in definitions for one in many)}


def _forget(config: pytest.Config, nodeid: str, *, first: bool) -> None:
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not first:
        return
    for category, reports in list(reporter.stats.items()):
        kept = [report for report in reports if getattr(report, "nodeid", None) != nodeid]
        if len(kept) != len(reports):
            reporter.stats[category] = kept
