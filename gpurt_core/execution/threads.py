"""Carries the recorder in force into threads and thread pools that a test starts.

A thread that still compiles after its test ended counts to the test that started it, and a pool
that several tests share counts each job to the test that submitted it. Threads that are started
below `threading.Thread` (`_thread.start_new_thread`, native threads) are not reached.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from gpurt_core.execution.forking import lock_held_over_forks
from gpurt_core.execution.issued import IssuedRecorder

_lock = lock_held_over_forks()


def carry_recorders() -> RecorderCarrying:
    """While it is open, started threads and submitted jobs keep the recorder in force.

    Opens as a context manager, or with `open` and `close`; nests.
    """
    return RecorderCarrying()


class RecorderCarrying:
    """One opening of the carrying; see `carry_recorders`."""

    def __init__(self) -> None:
        self._open = False

    def open(self) -> Self:
        """Starts carrying; raises `RuntimeError` where this very object is open."""
        with _lock:
            if self._open:
                raise RuntimeError("it is open already: make another one to nest")
            self._open = True
            if not _count.openings:
                for replacement in _replacements:
                    replacement.install()
            _count.openings += 1
        return self

    def close(self) -> None:
        """Stops carrying where no other is open; does nothing where it is not open."""
        with _lock:
            if not self._open:
                return
            self._open = False
            _count.openings -= 1
            if not _count.openings:
                for replacement in _replacements:
                    replacement.remove()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Count:
    openings = 0


_count = _Count()


class _Replacement:
    """A method of a class, replaced while the carrying is open.

    Where somebody replaced it over ours by the time it is removed, theirs is left in place, and
    ours, which theirs calls, hands on to the original.
    """

    def __init__(self, owner: type, name: str, wrap: Callable[[Any], Any]) -> None:
        self._owner = owner
        self._name = name
        self._wrap = wrap
        self._original: Any = None
        self._ours: Any = None

    def install(self) -> None:
        current = getattr(self._owner, self._name)
        if current is not self._ours:
            self._original = current
            self._ours = self._wrap(current)
            setattr(self._owner, self._name, self._ours)

    def remove(self) -> None:
        if getattr(self._owner, self._name) is self._ours:
            setattr(self._owner, self._name, self._original)
            self._original = self._ours = None


def _carrying_start(
    original: Callable[[threading.Thread], None],
) -> Callable[[threading.Thread], None]:
    def start(self: threading.Thread) -> None:
        # A thread that has an ident was started before: the original says what is wrong.
        if not _count.openings or self.ident is not None:
            return original(self)
        carried = _CarriedRun(self)
        try:
            return original(self)
        except BaseException:
            carried.take_off()
            raise

    start.__doc__ = original.__doc__
    return start


class _CarriedRun:
    """Stands in for the `run` of one thread until that is called, whoever defined it.

    An attribute of the instance, so that the `run` of a subclass is reached as it would be; gone
    when it runs, so that nobody finds it there afterwards.
    """

    def __init__(self, thread: threading.Thread) -> None:
        self._thread = thread
        self._recorder = IssuedRecorder.capture()
        self._own = vars(thread).get("run")
        vars(thread)["run"] = self

    def take_off(self) -> None:
        if self._own is not None:
            vars(self._thread)["run"] = self._own
        else:
            vars(self._thread).pop("run", None)

    def __call__(self) -> None:
        self.take_off()
        with self._recorder.applied():
            self._thread.run()


def _carrying_submit(original: Callable[..., Future[Any]]) -> Callable[..., Future[Any]]:
    def submit(
        self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        if not _count.openings:
            return original(self, fn, *args, **kwargs)
        return original(self, _CarriedJob(fn), *args, **kwargs)

    submit.__doc__ = original.__doc__
    return submit


class _CarriedJob:
    """A job that runs under the recorder that was in force where it was submitted."""

    __slots__ = ("_job", "_recorder")

    def __init__(self, job: Callable[..., Any]) -> None:
        self._job = job
        self._recorder = IssuedRecorder.capture()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        with self._recorder.applied():
            return self._job(*args, **kwargs)


_replacements = (
    _Replacement(threading.Thread, "start", _carrying_start),
    _Replacement(ThreadPoolExecutor, "submit", _carrying_submit),
)
