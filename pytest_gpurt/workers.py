"""Runs over several worker processes: what each came to goes to the controller.

A worker sends its results when it is done. Until then each report carries what its test had counted
when it ended, which is what is left of a worker that dies.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gpurt_core.adapters.cupy.observer import KernelReport
    from pytest_gpurt.run import GpuRun
    from pytest_gpurt.worker_reports import WorkerReports

_KEY = "gpurt"
_REFUSAL_KEY = "gpurt-refusal"
_LOOK_SECONDS = 0.5


class BatchStopped(BaseException):
    """The run is to end before all is compiled; an observer that raises it ends the batch."""


def stop_claim(workerinput: Mapping[str, Any]) -> str:
    """What the process that runs pytest claims when its workers are to stop."""
    return f"stop:{workerinput['testrunuid']}"


class WorkerHooks:
    """In a worker: sends results."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Everything, before the worker says that it is finished."""
        output: dict[str, Any] = session.config.workeroutput  # type: ignore[attr-defined]
        if self._run.refusal is not None:
            output[_REFUSAL_KEY] = self._run.refusal
        if self._run.accounting is not None:
            from pytest_gpurt.results import result_of

            output[_KEY] = result_of(self._run).to_plain()


class CountsHooks:
    """In a worker that counts: sends, with each test, what it has counted; stops when it should."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run
        self._stop = stop_claim(run.config.workerinput)  # type: ignore[attr-defined]
        self._looked = 0.0
        assert run.journal is not None
        run.journal.listeners.append(self._look)

    def _look(self, report: KernelReport) -> None:
        """The process that runs pytest has no way to end a batch of a worker's, but this one."""
        now, environment = time.monotonic(), self._run.environment
        if environment is None or not self._run.finishing or now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        if environment.is_claimed(self._stop):
            self._run.finishing = False
            raise BatchStopped

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """The last report of a test carries its counts."""
        from pytest_gpurt.results import counts_of

        report = yield
        accounting = self._run.accounting
        entry = None if accounting is None else accounting.entries.get(item.nodeid)
        if report.when == "teardown" and entry is not None:
            vars(report)["gpurt_counts"] = [counts_of(one.statistics()) for one in entry.attempts]
        return report


class ControllerHooks:
    """In the process that runs pytest: gathers what workers came to."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run
        self._reports: WorkerReports | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """There are workers."""
        if self._reports is None:
            from pytest_gpurt.worker_reports import WorkerReports

            self._reports = WorkerReports(self._run)
            self._run.config.pluginmanager.register(self._reports, "gpurt-worker-reports")
        self._reports.stop = stop_claim(node.workerinput)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker is finished, or dead."""
        from pytest_gpurt.results import EntryResult, RunResult, abandoned

        output = getattr(node, "workeroutput", None) or {}
        if _REFUSAL_KEY in output:  # as every other worker's would be
            self._run.refuse(output[_REFUSAL_KEY])
        heard = {} if self._reports is None else self._reports.heard.pop(node.gateway.id, {})
        if _KEY in output:
            self._run.workers.add(RunResult.from_plain(output[_KEY]))
            return
        entries = {
            name: EntryResult("test", [abandoned(counts) for counts in attempts])
            for name, attempts in heard.items()
        }
        self._run.workers.add(RunResult(entries=entries, used_cupy=bool(entries)))
