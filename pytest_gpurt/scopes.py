"""Sends the counts of each piece of work to whom it is for: a test, a wider fixture, collection."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_gpurt.watching import is_exact

if TYPE_CHECKING:
    from pytest_gpurt.run import GpuRun


class ScopeHooks:
    """Hooks around tests, their attempts, and wider fixtures, once there is something to count."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run
        self._exact = False
        """Whether the running test's counts must not depend on what ran before it."""
        self._inside = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """After a test, and all attempts at it, nothing counts to it any more."""
        self._run.current = item
        self._inside = True
        try:
            return (yield)
        finally:
            self._inside = False
            self._end()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        """The same for a test in whose middle counting has started."""
        if not self._inside and self._run.current is not None:
            self._end()

    def _end(self) -> None:
        self._run.current = None
        self._run.frameworks.run_lazily()
        self._exact = False
        if self._run.accounting is not None:
            self._run.accounting.count_to_outside()
            self._run.queue.flush()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Each attempt at a test counts anew."""
        self._exact = is_exact(item)
        if self._exact or self._run.accounting is not None:
            self._run.start_counting().count_to_test(item.nodeid)
        if self._exact:
            self._run.frameworks.begin_generation()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        """What a fixture of a wider scope than one test does counts to the fixture."""
        if fixturedef.scope == "function":
            return (yield)
        accounting = self._run.start_counting() if self._exact else self._run.accounting
        if accounting is None:
            return (yield)
        name = fixture_name(fixturedef)
        _count_teardown(accounting, name, fixturedef, first=True)
        try:
            with accounting.counting_to_fixture(name):
                return (yield)
        finally:
            _count_teardown(accounting, name, fixturedef, first=False)
            seam, journal = self._run.frameworks.cupy, self._run.journal
            if self._exact and seam is not None and journal is not None:
                # A test that came later would find the fixture made, and obtain these kernels.
                seam.forget(journal.reached_in(name))


def fixture_name(fixturedef: Any) -> str:
    """What a fixture is called in reports."""
    where = f" of {fixturedef.baseid}" if fixturedef.baseid else ""
    return f"{fixturedef.scope} fixture {fixturedef.argname}{where}"


def _count_teardown(accounting: Any, name: str, fixturedef: Any, *, first: bool) -> None:
    """Finalizers run in reverse: the one that is added first ends the counting of the others."""
    if first:
        fixturedef.addfinalizer(lambda: _stack_of(fixturedef).close())
    else:
        stack = _stack_of(fixturedef)
        fixturedef.addfinalizer(lambda: stack.open(accounting.counting_to_fixture(name)))


def _stack_of(fixturedef: Any) -> _Counting:
    counting: _Counting = vars(fixturedef).setdefault("_gpurt_counting", _Counting())
    return counting


class _Counting:
    """A context manager that one finalizer enters and another leaves."""

    def __init__(self) -> None:
        self._entered: list[Any] = []

    def open(self, manager: Any) -> None:
        manager.__enter__()
        self._entered.append(manager)

    def close(self) -> None:
        while self._entered:
            self._entered.pop().__exit__(None, None, None)
