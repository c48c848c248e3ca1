"""The end of a compile-only pass: one batch, and another look at the tests whose kernels failed.

A kernel that the batch finds not to compile was queued where CuPy would have raised. The tests that
reached it run again, eagerly: one that expects the error, or falls back, has handled it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from gpurt_core.compilation.sharing import KERNEL_CLAIM
from pytest_gpurt.forgetting import forget_reports
from pytest_gpurt.outcomes import forget_instance
from pytest_gpurt.progress import CompileProgress
from pytest_gpurt.scopes import fixture_name
from pytest_gpurt.workers import BatchStopped

if TYPE_CHECKING:
    from gpurt_core.environment import QueuedEntry
    from pytest_gpurt.run import GpuRun

OTHER_ARCHITECTURES = "other architectures"
"""What is compiled for devices that no test has reached it on counts to this name."""
OTHERS = "other workers and earlier runs"
"""What is compiled for them counts to this name."""
_AT_ONCE = 8
"""How many kernels of others are taken at once: so few that others find some left."""


class BatchHooks:
    """Compiles what the session has gathered."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run
        self._again = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """After the last test."""
        try:
            result = yield
        except BaseException:
            self._run.queue.flush(force=True)
            raise
        if self._run.gathers and not session.config.option.collectonly:
            self._run.finishing = True
            with suppress(BatchStopped):  # what is left is in the environment's queue
                self._finish(session)
        return result

    def _finish(self, session: pytest.Session) -> None:
        if session.shouldstop or session.shouldfail:
            self._run.queue.flush(force=True)
            return
        self._spread()
        self._run.queue.flush(force=True)
        with CompileProgress(self._run):
            self._run.queue.compile()
        if self._run.journal is not None:
            self._look_again(session)
            self._run.queue.compile()
            self._settle_failures()
            self._help()
            self._run.queue.flush(force=True)

    def _spread(self) -> None:
        """Tests run on one device each: what they reach is compiled for all."""
        if self._run.frameworks.cupy is None or len(set(self._run.options.architectures)) < 2:
            return
        assert self._run.accounting is not None
        assert self._run.journal is not None
        with self._run.accounting.counting_to_fixture(OTHER_ARCHITECTURES):
            failed = {failure.id for failure in self._run.journal.failures()}
            self._run.frameworks.cupy.queue_for_other_architectures(failed)

    def _help(self) -> None:
        """Compiles what others have gathered and nobody compiles: other workers, that still run
        tests, and runs that were killed."""
        if self._run.accounting is None:
            return
        with self._run.accounting.counting_to_fixture(OTHERS):
            while some := self._waiting():
                self._run.queue.take(some)
                self._run.queue.compile()

    def _waiting(self) -> list[QueuedEntry]:
        """What waits in the durable queue, and can be compiled here."""
        environment, seam = self._run.environment, self._run.frameworks.cupy
        if environment is None or seam is None:
            return []
        return environment.take_waiting(KERNEL_CLAIM, _AT_ONCE, seam.kernels)

    def _look_again(self, session: pytest.Session) -> None:
        items = self._concerned(session)
        if not items:
            return
        self._run.always_eager = True
        tests = "1 test" if len(items) == 1 else f"{len(items)} tests"
        self._say(f"once more, because kernels do not compile: {tests}")
        try:
            for item, following in zip(items, [*items[1:], None], strict=True):
                self._run_again(session, item, following)
                if session.shouldfail or session.shouldstop:
                    break
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

    def _run_again(
        self, session: pytest.Session, item: pytest.Item, following: pytest.Item | None
    ) -> None:
        """The result of this run stands in the place of the earlier one."""
        worker = next((p for p in item.config.pluginmanager.get_plugins() if _is_worker(p)), None)
        if worker is not None:
            worker.item_index = session.items.index(item)
        forget_instance(item)
        self._again = True
        try:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        finally:
            self._again = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Iterator[None]:
        """Forgets, in the terminal's summary, what an earlier run of the test had come to."""
        if self._again:
            vars(report)["gpurt_again"] = True
        if getattr(report, "gpurt_again", False) and report.when == "setup":
            forget_reports(self._run.config, report.nodeid)
        return (yield)

    def _settle_failures(self) -> None:
        """What tests made of a failing kernel when they ran eagerly is their own result.

        What they would make of it on another architecture is not known.
        """
        assert self._run.journal is not None
        eager = self._run.eager_tests
        for failure in self._run.journal.failures():
            if failure.reached_by == (OTHER_ARCHITECTURES,):
                self._run.notes.append(
                    f"{failure.label} does not compile for sm_{failure.arch}: --gpu-arch=sm_"
                    f"{failure.arch} alone shows what its tests make of that"
                )
            elif not any(name in eager for name in failure.reached_by):
                self._run.unhandled.append(failure)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """A kernel that nobody has handled, or that could not be stored, makes the run fail."""
        result = self._run.result
        bad = result.failures or (self._run.gathers and result.unstored)
        if bad and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)


def _names_of(item: pytest.Item) -> set[str]:
    """By which names a test and what it uses count."""
    info = getattr(item, "_fixtureinfo", None)
    definitions = () if info is None else info.name2fixturedefs.values()
    return {item.nodeid, *(fixture_name(one) for many in definitions for one in many)}


def _is_worker(plugin: object) -> bool:
    """The part of pytest-xdist that sends reports from a worker, which says of which test."""
    return hasattr(plugin, "item_index") and hasattr(plugin, "sendevent")
