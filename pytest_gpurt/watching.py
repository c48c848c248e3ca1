"""Hooks of every run: all that there is in one without GPU code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_gpurt.fixtures import STATISTICS_FIXTURES

if TYPE_CHECKING:
    from pytest_gpurt.run import GpuRun

_EXACT = frozenset(STATISTICS_FIXTURES)


def is_exact(item: pytest.Item) -> bool:
    """Whether a test looks at its counts."""
    return not _EXACT.isdisjoint(getattr(item, "fixturenames", ()))


class WatchHooks:
    """They see to it that counting starts in time, and say what there is to say."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Iterator[None]:
        """What conftests and imports do counts to collection, and is done at once."""
        try:
            return (yield)
        finally:
            self._run.frameworks.run_lazily()
            self._run.collected = True
            if self._run.accounting is not None:
                self._run.accounting.count_to_outside()

    @pytest.hookimpl
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """A test that looks at its counts finds them, also if it is the first that has any."""
        if self._run.refusal is not None:  # which the suite has caught
            self._run.refuse(self._run.refusal)
        if self._run.accounting is None and any(map(is_exact, session.items)):
            self._run.start_counting()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Counting may start in the middle of a test, with an import: it counts to the test."""
        self._run.current = item

    @pytest.hookimpl
    def pytest_report_header(self) -> list[str]:
        """The mode, what is compiled for, and the environment."""
        if self._run.options.mode is None:
            return []
        from pytest_gpurt.terminal import header_of

        return [header_of(self._run)]

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Some lines, where there is something to say."""
        if self._run.has_counted:
            from pytest_gpurt.terminal import write_summary

            write_summary(self._run, terminalreporter)
