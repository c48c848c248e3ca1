"""Counting what is read back while launches are dropped, and ending who reads without end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpurt_core.execution.forking import lock_held_over_forks
from gpurt_core.execution.host import host_memory

_LARGE = 512 * 1024**2
"""Smaller reads are never too large: the host is not even asked what it has."""
_SHARE = 8


class ReadLimitExceeded(BaseException):
    """Device memory was read back more often than allowed: `reads` of `limit`.

    Not an `Exception`: the loop that reads until a value changes, which it never does here, may
    well catch those.
    """

    def __init__(self, reads: int, limit: int) -> None:
        super().__init__(
            f"device memory was read back {reads} times (the limit is {limit}); launches are "
            "discarded here, so that code which waits for a computed value never sees it change"
        )
        self.reads = reads
        self.limit = limit

    def __reduce__(self) -> tuple[type[ReadLimitExceeded], tuple[int, int]]:
        return type(self), (self.reads, self.limit)


class ReadTooLarge(BaseException):
    """One read would have taken much of the host's memory: `size` bytes, of `limit` allowed.

    Not an `Exception`, as `ReadLimitExceeded`. What would be read means nothing, and what a test
    does with it (compare it, explain how it differs) takes as much again, several times.
    """

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            f"{size} bytes of device memory were to be read back at once (the limit is {limit}, an "
            "eighth of the host's memory); launches are discarded here, and they mean nothing"
        )
        self.size = size
        self.limit = limit

    def __reduce__(self) -> tuple[type[ReadTooLarge], tuple[int, int]]:
        return type(self), (self.size, self.limit)


class ReadMonitor:
    """Counts transfers from a device, or a CUDA array, to the host; the counts only grow."""

    def __init__(self) -> None:
        self.limit: int | None = None
        """How many reads are allowed since `begin`; None is any number."""
        self.on_next: Callable[[], object] | None = None
        """Is called after the next read that counts, once."""
        self._lock = lock_held_over_forks()
        self._count = 0
        self._start = 0
        self._of_thread = threading.local()

    @property
    def count(self) -> int:
        """Of this process."""
        return self._count

    def count_for_thread(self) -> int:
        """Of the calling thread."""
        return getattr(self._of_thread, "count", 0)

    def begin(self, limit: int | None) -> None:
        """Allows `limit` reads from here on, over all threads together."""
        with self._lock:
            self._start = self._count
            self.limit = limit

    @property
    def overlooked(self) -> bool:
        """Whether what this thread reads now does not count."""
        return getattr(self._of_thread, "overlooked", False)

    @contextmanager
    def overlooking(self) -> Iterator[None]:
        """What this thread reads within the block does not count: who explains a failure reads."""
        before = self.overlooked
        self._of_thread.overlooked = True
        try:
            yield
        finally:
            self._of_thread.overlooked = before

    def record(self, size: int = 0) -> None:
        """Counts one read, of `size` bytes.

        While reads are limited, raises `ReadLimitExceeded` when it is one too many, and
        `ReadTooLarge` when the host would suffer.
        """
        if self.overlooked:
            return
        with self._lock:
            self._count += 1
            reads, limit = self._count - self._start, self.limit
        self._of_thread.count = self.count_for_thread() + 1
        if (on_next := self.on_next) is not None:
            self.on_next = None
            on_next()
        if limit is not None and reads > limit:
            raise ReadLimitExceeded(reads, limit)
        if limit is not None and size > _LARGE:
            most = host_memory()[1] // _SHARE
            if size > most:
                raise ReadTooLarge(size, most)
