"""Child processes of the run: what they count reaches the session as "children".

A forked child counts on, on copies of the collectors; the difference is its own. Interpreters that
are started join the environment of the run where the mode has one; see
`gpurt_core.adapters.cupy.children`.
"""

from __future__ import annotations

import functools
import importlib
import os
from types import ModuleType
from typing import TYPE_CHECKING
from weakref import WeakSet

from gpurt_core.adapters.cupy import early
from pytest_gpurt.options import GpuMode

if TYPE_CHECKING:
    from gpurt_core.adapters.cupy.children import ChildNote, ChildNotes, NoteWriter
    from gpurt_core.adapters.cupy.observer import KernelReport
    from gpurt_core.execution import ExecutionStatistics
    from pytest_gpurt.run import GpuRun

CHILDREN = "children"
"""What child processes count, counts to this name."""
_MULTIPROCESSING = "multiprocessing.util"


class Children:
    """The child processes of this process."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run
        self._notes: ChildNotes | None = None
        self._owner = os.getpid()
        self._writer: NoteWriter | None = None
        """Of this process, if it was forked off."""
        self._announced: dict[str, str] = {}
        self._before: dict[str, str | None] = {}

    def watch(self) -> None:
        """From here on, children are listened to."""
        if self._notes is not None:
            return
        from gpurt_core.adapters.cupy.children import ChildNotes

        self._notes = ChildNotes()
        _listen_to_forks()
        _watching.add(self)
        early.when_imported(_MULTIPROCESSING, self._when_forked_by_multiprocessing)
        if self._run.environment is not None and self._run.options.mode is not GpuMode.AUTOTUNE:
            assert self._run.accounting is not None
            folder, mode = self._run.environment.path, self._run.accounting.mode
            self._announced = self._notes.announcement(folder, mode)
            self._announced.update(early.startup_path(os.environ))
            self._before = {name: os.environ.get(name) for name in self._announced}
            os.environ.update(self._announced)

    def close(self) -> None:
        """Listens no more."""
        early.forget(_MULTIPROCESSING, self._when_forked_by_multiprocessing)
        _watching.discard(self)
        for name, text in self._announced.items():
            if os.environ.get(name) == text:
                _put_back(name, self._before[name])
        if self._notes is not None and os.getpid() == self._owner:
            self._notes.clear()

    def new(self) -> list[ChildNote]:
        """What children have done since this was last asked."""
        return [] if self._notes is None else self._notes.new()

    def statistics(self) -> ExecutionStatistics | None:
        """What all children have counted up to now; `None` where nobody has listened."""
        return None if self._notes is None else self._notes.statistics()

    def _begin_in_child(self) -> None:
        """This process has just been forked off."""
        assert self._notes is not None
        assert self._run.accounting is not None
        self._run.accounting.keep_those_in_force()
        self._writer = self._notes.writer(self._run.accounting.total)
        if self._run.journal is not None:
            self._run.journal.begin_in_child(self._settled)

    def _settled(self, report: KernelReport) -> None:
        """Told at once: the process may be ended at any moment."""
        assert self._writer is not None
        self._writer.write()

    def _when_forked_by_multiprocessing(self, util: ModuleType) -> None:
        util.register_after_fork(self, Children._write_at_exit)

    def _write_at_exit(self) -> None:
        if self._writer is not None:
            self._writer.write_at_exit()


def _put_back(name: str, text: str | None) -> None:
    if text is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = text


_watching: WeakSet[Children] = WeakSet()


@functools.cache
def _listen_to_forks() -> None:
    # What is registered first runs first: a child's loaders drop what is their parent's, and then
    # the child begins to count.
    importlib.import_module("gpurt_core.compilation")
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork_in_child)


def _after_fork_in_child() -> None:
    for children in list(_watching):
        children._begin_in_child()
