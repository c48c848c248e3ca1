"""Worker threads that compile: at most `parallelism` at once over all batches of a loader.

A worker takes the next job as it finishes one, from each open group in turn, so that one kernel is
not kept waiting behind another thread's long batch. Workers start when there are jobs and end when
there are none: nothing idles, and a fork finds the fewest threads possible.

They are not daemons: an interpreter that shuts down while a compiler is in native code may crash.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

Job = Callable[[], None]


class CompileWorkers:
    """Runs the jobs of its groups on up to `parallelism` threads."""

    def __init__(self, parallelism: int) -> None:
        if parallelism < 1:
            raise ValueError(f"parallelism must be at least 1, not {parallelism}")
        self.parallelism = parallelism
        # Reentrant: a finalizer that runs inside may launch, and so compile, a kernel.
        self._lock = threading.RLock()
        self._groups: deque[JobGroup] = deque()
        self._running = 0

    def open_group(self) -> JobGroup:
        """A group of jobs that are dropped together."""
        group = JobGroup(self)
        with self._lock:
            self._groups.append(group)
        return group

    def _submit(self, group: JobGroup, job: Job, first: bool) -> None:
        with self._lock:
            if group not in self._groups:
                return
            if first:
                group.jobs.appendleft(job)
            else:
                group.jobs.append(job)
            if self._running >= self.parallelism:
                return
            self._running += 1
        self._start_worker()

    def _start_worker(self) -> None:
        try:
            threading.Thread(target=self._work, name="gpurt-compile").start()
        except BaseException:
            with self._lock:
                self._running -= 1
                alone = not self._running
            # Where other workers are alive they take the job: fewer threads, the same work.
            if alone:
                raise

    def _close(self, group: JobGroup) -> None:
        with self._lock:
            group.jobs.clear()
            if group in self._groups:
                self._groups.remove(group)

    def _work(self) -> None:
        while (job := self._next()) is not None:
            job()

    def _next(self) -> Job | None:
        with self._lock:
            for _ in range(len(self._groups)):
                group = self._groups[0]
                self._groups.rotate(-1)
                if group.jobs:
                    return group.jobs.popleft()
            # Under the same lock that jobs are added under: none is added in between unseen.
            self._running -= 1
            return None


class JobGroup:
    """Jobs that belong together. A job must not raise: it hands on what it caught."""

    def __init__(self, workers: CompileWorkers) -> None:
        self._workers = workers
        self.jobs: deque[Job] = deque()

    def submit(self, job: Job, *, first: bool = False) -> None:
        """Runs `job` on a worker, before the group's waiting jobs where it is `first`."""
        self._workers._submit(self, job, first)

    def close(self) -> None:
        """Drops the jobs that have not begun, and all submitted from now on."""
        self._workers._close(self)
