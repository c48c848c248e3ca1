"""Which tests have looked at device memory, in a pass in which what they see there means nothing.

A test has when it read back itself, or when something did that it depends on: a wider fixture of
its, the import of its module, a conftest.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.assertion import rewrite

if TYPE_CHECKING:
    from pytest_gpurt.run import GpuRun


_EXPLAINING = ("_saferepr", "_call_reprcompare", "_format_assertmsg")
"""What a rewritten assertion calls once it has failed."""


class ReadingHooks:
    """Watches reads, and ends a test that keeps reading."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run
        self._before_attempt = 0
        self._modules: set[str] = set()
        self._fixtures: set[int] = set()
        self._everything = False
        self.children_have_read = False
        self.children_missed: list[str] = []
        """What child processes of the running test asked for in vain."""
        self._originals: dict[str, Callable[..., Any]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """pytest looks at arrays itself, to explain a failure: that is not the test reading."""
        for name in _EXPLAINING:
            if hasattr(rewrite, name):
                self._originals[name] = getattr(rewrite, name)
                setattr(rewrite, name, self._overlooked(self._originals[name]))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """pytest explains by itself again."""
        for name, original in self._originals.items():
            setattr(rewrite, name, original)

    def _overlooked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*arguments: Any) -> Any:
            with self.overlooking():
                return function(*arguments)

        return wrapper

    def overlooking(self) -> AbstractContextManager[object]:
        """A block in which nothing that is read counts."""
        stack = ExitStack()
        for monitor in self._run.frameworks.read_monitors:
            stack.enter_context(monitor.overlooking())
        return stack

    def has_read(self, item: pytest.Item) -> bool:
        """Whether the running test has looked at device memory, or what it depends on has."""
        if self._reads > self._before_attempt or self._everything or self.children_have_read:
            return True
        if any(parent.nodeid in self._modules for parent in item.listchain()):
            return True
        info = getattr(item, "_fixtureinfo", None)
        definitions = {} if info is None else info.name2fixturedefs
        return any(id(one) in self._fixtures for many in definitions.values() for one in many)

    def _limit_reads(self, limit: int | None) -> None:
        for monitor in self._run.frameworks.read_monitors:
            monitor.begin(limit)

    def listen_to_children(self) -> None:
        """Takes in what child processes have noted since the attempt began."""
        for note in self._run.children.new():
            self.children_have_read |= note.reads > 0
            self.children_missed += note.absences

    @property
    def _reads(self) -> int:
        return sum(monitor.count for monitor in self._run.frameworks.read_monitors)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Iterator[None]:
        """Conftests have been imported by now."""
        self._everything = self._reads > 0
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """A module may read when it is imported."""
        before = self._reads
        result = yield
        if self._reads > before:
            self._modules.add(collector.nodeid)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        """Each attempt at a test is watched anew."""
        self._before_attempt = self._reads
        self.listen_to_children()
        self.children_have_read, self.children_missed = False, []
        if self._run.frameworks.null_device is not None:
            _forget_failure()
            self._run.frameworks.null_device.free_unused()
        self._limit_reads(self._run.options.read_limit)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        """A wider fixture that reads taints every test that uses it."""
        before = self._reads
        try:
            return (yield)
        finally:
            if self._reads > before and fixturedef.scope != "function":
                self._fixtures.add(id(fixturedef))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        """No limit between tests."""
        try:
            return (yield)
        finally:
            self._limit_reads(None)


def _forget_failure() -> None:
    """Lets go of what the last test that failed had allocated, which pytest does a moment later."""
    kept = [
        name
        for name in ("last_type", "last_value", "last_exc", "last_traceback")
        if hasattr(sys, name)
    ]
    for name in kept:
        delattr(sys, name)
    if kept:
        gc.collect(1)  # an error and the frames that it came from hold each other
