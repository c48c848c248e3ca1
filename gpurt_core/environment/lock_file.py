"""The lock file that SQLite makes where a file system has no locks, and who has left one behind.

Such a lock outlives its owner, and says nothing of it. It is known by when it was made: one that
stays the same for longer than any transaction takes is a dead process's.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

_WATCHED_SECONDS = 5.0
"""A transaction takes milliseconds; who meets the lock has waited for some seconds before."""


def remove_if_abandoned(database: Path) -> bool:
    """Watches the lock of a database for some seconds; says whether it is gone or was removed."""
    lock = database.with_name(database.name + ".lock")
    known = _identity(lock)
    deadline = time.monotonic() + _WATCHED_SECONDS
    while time.monotonic() < deadline:
        if known is None or _identity(lock) != known:
            return True
        time.sleep(0.05)
    with contextlib.suppress(OSError):
        lock.rmdir()
    return not lock.exists()


def _identity(lock: Path) -> tuple[int, int, int] | None:
    try:
        status = lock.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns
