"""In the process that runs pytest over workers: what their reports carry, and what they compile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_gpurt.progress import CompileProgress
from pytest_gpurt.results import Counts

if TYPE_CHECKING:
    from pytest_gpurt.run import GpuRun


class WorkerReports:
    """In the process that runs pytest: keeps what is heard of each worker."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run
        self.heard: dict[Any, dict[str, list[Counts]]] = {}
        """Worker to what its tests had counted, in case no more is heard of it."""
        self.stop: str | None = None
        """See `stop_claim`."""
        self.progress = CompileProgress(run, self._tests_are_done)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Iterator[None]:
        """Workers compile, once their tests are done."""
        if not self._run.gathers:
            return (yield)
        with self.progress:
            return (yield)

    def _tests_are_done(self) -> bool:
        """Whether no worker has more than its last test left; has workers stop where they should.

        pytest-xdist waits for them, whatever they do after their tests.
        """
        plugin: Any = self._run.config.pluginmanager.get_plugin("dsession")
        environment = self._run.environment
        if getattr(plugin, "shouldstop", False) and self.stop is not None and environment:
            environment.claim(self.stop)  # held for as long as this process lives
        return bool(getattr(getattr(plugin, "sched", None), "tests_finished", False))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """What a worker's test had counted, or that it ended its worker."""
        self.progress.heard()
        node = getattr(report, "node", None)
        if node is None:
            return
        incomplete = self._run.workers.incomplete
        if report.when not in ("setup", "call", "teardown") and report.nodeid not in incomplete:
            incomplete.append(report.nodeid)  # it has killed its worker
        counts = getattr(report, "gpurt_counts", None)
        if counts is not None:
            self.heard.setdefault(node.gateway.id, {})[report.nodeid] = counts
