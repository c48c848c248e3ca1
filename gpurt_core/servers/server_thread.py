"""The one thread of a server, which does its jobs in the order in which they were given.

It starts with the first job. At the end of the interpreter it finishes what it was given. In the
child of a fork it starts anew with an empty queue: what was queued is the parent's to do.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import TypeVar
from weakref import WeakSet

T = TypeVar("T")

Job = Callable[[], object]


class ServerThread:
    """Does jobs one after another."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._start_anew()
        _threads.add(self)

    def _start_anew(self) -> None:
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def is_current(self) -> bool:
        """Whether the caller is on it."""
        return self._thread is threading.current_thread()

    def submit(self, job: Job) -> None:
        """Does `job` when those before it are done. It must not raise."""
        if self._thread is None:
            self._start()
        self._jobs.put(job)

    def call(self, function: Callable[[], T]) -> T:
        """What `function` returns, or raises, on the thread; at once where the caller is on it."""
        if self.is_current:
            return function()
        future: Future[T] = Future()
        self.submit(partial(_do, function, future))
        try:
            return future.result()
        finally:
            del future  # which holds an error, whose traceback holds this frame

    def end(self) -> None:
        """Ends the thread when it has done what it was given; waits for nothing."""
        self._take_thread()

    def close(self) -> None:
        """Ends the thread, and waits until it has."""
        thread = self._take_thread()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _take_thread(self) -> threading.Thread | None:
        thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
        return thread

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                # A daemon, for the interpreter waits for others before it lets servers close.
                self._thread = threading.Thread(
                    target=_work, args=(self._jobs,), name=self._name, daemon=True
                )
                self._thread.start()


def _do(function: Callable[[], T], future: Future[T]) -> None:
    try:
        future.set_result(function())
    except BaseException as error:
        future.set_exception(error)


def _work(jobs: SimpleQueue[Job | None]) -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # an idle thread keeps nobody's arrays


_threads: WeakSet[ServerThread] = WeakSet()


def _after_fork_in_child() -> None:
    for thread in _threads:
        thread._start_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
