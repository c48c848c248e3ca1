"""Locks beside those of SQLite: of a folder while its file is opened, and one that was left behind.

Opening and replacing a file are more than SQLite's own locks cover: a file, its log and the memory
that goes with it are found by their names, one after another.

The lock file that SQLite makes where a file system has no locks outlives its owner, and says
nothing of it. It is known by when it was made: one that stays the same for longer than any
transaction takes is a dead process's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ALONE_SECONDS = 30.0
"""How long another process is waited for that opens the file; that takes milliseconds."""
_WATCHED_SECONDS = 5.0
"""A transaction takes milliseconds; who meets the lock has waited for some seconds before."""


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Nobody else opens or replaces the file of a folder meanwhile.

    Where there are no locks there is no log either: the worst is that a file is put aside twice.
    """
    try:
        directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        _wait_for(directory)
        yield
    finally:
        os.close(directory)


def _wait_for(directory: int) -> None:
    deadline = time.monotonic() + _ALONE_SECONDS
    while time.monotonic() < deadline:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.002)
        except OSError:
            return
        else:
            return


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
