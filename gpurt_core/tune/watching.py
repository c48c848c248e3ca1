"""Calls that are waited for so long and no longer.

Nothing in a process can stop a call into a driver, or a kernel: one that does not end keeps its
thread. What can be done is that nobody else hangs with it.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextvars import Context
from functools import partial
from queue import SimpleQueue

from gpurt_core.errors import GpurtError


class Unended(GpurtError):
    """A call did not end in time. For the tuner, which says whose it was."""


class WatchedThread:
    """Makes calls on a thread of its own, one after another, with the caller's context variables.

    A call may wait `limit` seconds of wall clock, without those that it is `paused` for. With no
    limit, calls are made on the caller's own thread.
    """

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._running: Future[float] | None = None
        self._elsewhere: tuple[float, float | None] = (0.0, None)
        """Seconds that were paused for, and since when it is paused: replaced whole."""

    def call(self, function: Callable[[], float]) -> float:
        """What `function` returns or raises; raises `Unended`."""
        if self._limit is None:
            return function()
        self._elsewhere = (0.0, None)
        future: Future[float] = Future()
        self._start()
        self._running = future
        self._jobs.put(partial(_call, future, contextvars.copy_context(), function))
        try:
            self._wait_for(future, self._limit)
            self._running = None
            return future.result()
        finally:
            del future  # which holds an error, whose traceback holds this frame

    def _start(self) -> None:
        if self._thread is None:
            # A daemon: the interpreter ends without those that do not.
            self._thread = threading.Thread(
                target=_work, args=(self._jobs,), name="gpurt-tuning", daemon=True
            )
            self._thread.start()

    def _wait_for(self, future: Future[float], limit: float) -> None:
        began = time.monotonic()
        while True:
            elsewhere, paused_since = self._elsewhere
            spent = (paused_since or time.monotonic()) - began - elsewhere
            if spent >= limit and paused_since is None:
                raise Unended
            if wait([future], timeout=max(limit - spent, 0.01)).done:
                return

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Within the block, on its thread, the call that is made is not to blame for the time."""
        began, (before, _) = time.monotonic(), self._elsewhere
        self._elsewhere = (before, began)
        try:
            yield
        finally:
            self._elsewhere = (before + time.monotonic() - began, None)

    def close(self, then: Callable[[], object]) -> None:
        """Ends the thread and does `then`: at once, or when a call that has not ended does."""
        running, self._running = self._running, None
        if self._thread is not None:
            self._jobs.put(None)
        if running is None:
            then()
        else:
            running.add_done_callback(lambda _: then())


def _call(future: Future[float], context: Context, function: Callable[[], float]) -> None:
    try:
        future.set_result(context.run(function))
    except BaseException as error:
        future.set_exception(error)


def _work(jobs: SimpleQueue[Callable[[], None] | None]) -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # an idle thread keeps nobody's arrays
