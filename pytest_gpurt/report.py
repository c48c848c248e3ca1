"""The JSON report: what was counted, for the run and for each test."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_gpurt.outcomes import is_discarded
from pytest_gpurt.results import EntryResult, RunResult, statistics_of

if TYPE_CHECKING:
    from pytest_gpurt.run import GpuRun

SCHEMA = 1

_RANK = ("passed", "xfailed", "xpassed", "skipped", "discarded", "failed", "error")
"""A test has several reports: what counts most is its outcome."""


class ReportHooks:
    """Notes outcomes, and writes the report at the end."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run
        self.outcomes: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test that has begun, and of which nothing else is heard, is incomplete."""
        self.outcomes[nodeid] = "incomplete"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Iterator[None]:
        """Notes what a test comes to: the worst of what its phases and subtests do."""
        outcome, before = outcome_of(report), self.outcomes.get(report.nodeid, "incomplete")
        if report.when == "setup" and outcome == "passed":
            return (yield)
        if before == "incomplete" or _RANK.index(outcome) > _RANK.index(before):
            self.outcomes[report.nodeid] = outcome
        return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Writes the report, if one was asked for."""
        path = self._run.options.report
        if path is not None:
            try:
                _write(path, self.content())
            except OSError as error:
                self._run.notes.append(f"--gpu-report {path}: {error.strerror}")

    def content(self) -> dict[str, Any]:
        """The report, as what becomes JSON."""
        mode, result = self._run.options.mode, self._run.result
        return {
            "schema": SCHEMA,
            "mode": None if mode is None else mode.value,
            "architectures": list(self._run.options.architectures) if self._run.gathers else [],
            "statistics": asdict(result.statistics),
            "tests": self._tests(result),
            "fixtures": {
                name: {"statistics": asdict(entry.statistics)}
                for name, entry in result.entries.items()
                if entry.kind != "test"
            },
            "failures": result.failures,
            "tunes": result.tunes,
        }

    def _tests(self, result: RunResult) -> dict[str, Any]:
        tests: dict[str, dict[str, Any]] = {}
        counted = {name: e for name, e in result.entries.items() if e.kind == "test"}
        for nodeid in dict.fromkeys([*self.outcomes, *counted]):
            entry = counted.get(nodeid, EntryResult("test"))
            tests[nodeid] = {
                "outcome": self.outcomes.get(nodeid, "incomplete"),
                "statistics": asdict(entry.statistics),
            }
            if len(entry.attempts) > 1:
                attempts = [asdict(statistics_of([counts])) for counts in entry.attempts]
                tests[nodeid]["attempts"] = attempts
            if nodeid in result.incomplete:
                tests[nodeid]["incomplete"] = True
        return tests


def outcome_of(report: pytest.TestReport) -> str:
    """What a report says, in one word."""
    if is_discarded(report):
        return "discarded"
    if hasattr(report, "wasxfail"):
        return "xpassed" if report.passed else "xfailed"
    if report.failed and report.when != "call":
        return "error"
    return report.outcome if report.outcome in _RANK else "passed"


def _write(path: Path, content: dict[str, Any]) -> None:
    """At once or not at all: a report that is half there is worse than none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(beside, path)
