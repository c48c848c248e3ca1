"""The SQLite file behind an environment: shared by threads, processes and forks, and survived.

One connection per process, behind a lock. It is closed before the process forks, and opened again
on either side when it is next used: what SQLite knows of locks does not hold in a child, not even
for a connection that the child opens. Each operation is one transaction. What goes wrong is told
once, in one line, and makes an operation come to nothing: it never raises into the code that uses
the environment.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from weakref import WeakSet

from gpurt_core.environment.database_file import DatabaseFile
from gpurt_core.environment.lock_file import remove_if_abandoned
from gpurt_core.environment.place import Unusable
from gpurt_core.environment.schema import VERSION
from gpurt_core.environment.transactions import transaction
from gpurt_core.environment.trouble import (
    FAILURES,
    is_busy,
    is_damage,
    is_lack_of_space,
    is_passing,
    reason_of,
)
from gpurt_core.execution.forking import lock_held_over_forks

T = TypeVar("T")

_IMPATIENT_MS = 1000
"""How long each operation waits for others once one has waited in vain."""
_FREE = "free some space, or choose another folder with --gpu-environment"
_REOPENINGS = 20
"""For errors that may pass: one that stays must not slow down each operation of a long run."""


class Database:
    """A file, open or not: without one nothing is found, and nothing is kept."""

    def __init__(self, folder: Path, warn: Callable[[str], object]) -> None:
        self.warn = warn
        self.trouble: str | None = None
        self._file = DatabaseFile(folder, self._tell)
        self._told: set[str] = set()
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._suspended = False
        self._reopenings_left = _REOPENINGS
        self.is_full = False
        """Whether something could not be written for want of space."""

    @property
    def writable(self) -> bool:
        """Whether anything can be kept."""
        return self._file.writable

    def open(self) -> None:
        """Raises `Unusable` where there is nothing that can be read."""
        with _open_lock:  # no thread forks meanwhile: the child would hold what keeps others out
            self._open()
            _open_databases.add(self)

    def _open(self) -> None:
        self._suspended = False
        self._connection = self._file.open()
        if self._file.obstacle is not None:
            self.report(f"{self._file.obstacle}; what is missing is not stored")

    def require_writing(self) -> None:
        """Writes, to see whether that can be done; raises `Unusable`."""
        if self._file.obstacle is not None:
            raise Unusable(self._file.obstacle, _FREE)
        if not self.writable or self._connection is None:
            raise Unusable("it cannot be written", "make it writable, or choose another folder")
        try:
            with self._lock, transaction(self._connection):
                self._connection.execute(f"PRAGMA user_version = {VERSION}")
        except sqlite3.Error as error:
            reason = f"it cannot be written: {reason_of(error, self._file.folder)}"
            raise Unusable(reason, _FREE) from None

    # Using

    def read(self, operation: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """What the operation finds; `otherwise` where the file cannot tell."""
        with self._lock:
            return self._attempt(operation, otherwise)

    def write(self, operation: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Runs an operation in a transaction; `otherwise` where nothing can be kept."""

        def in_transaction(connection: sqlite3.Connection) -> T:
            with transaction(connection):
                return operation(connection)

        with self._lock:
            if not self.writable:
                return otherwise
            self._follow_file()
            return self._attempt(in_transaction, otherwise)

    def _attempt(self, operation: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        for last in (False, True):
            if self._suspended:
                self._reopen()
            if self._connection is None:
                return otherwise
            try:
                return operation(self._connection)
            except FAILURES as error:
                if last or not self._is_mended(error):
                    self._report_failure(error)
                    return otherwise
        return otherwise

    def _is_mended(self, error: Exception) -> bool:
        """Whether the operation is worth another try."""
        if is_damage(error) and self.writable:
            self._replace()
            return self._connection is not None
        if (is_damage(error) or is_passing(error)) and self._reopenings_left:
            self._reopenings_left -= 1
            time.sleep(0.05)  # another machine's file system may need that long to show what it has
            self._reopen()
            return self._connection is not None
        if is_busy(error) and self._file.way.lock_files:
            return remove_if_abandoned(self._file.path)
        return False

    def _report_failure(self, error: Exception) -> None:
        if is_lack_of_space(error):
            self.is_full = True
            self.report(f"nothing more can be stored: {reason_of(error, self._file.folder)}")
            return
        if is_busy(error) and self._connection is not None:
            self._connection.execute(f"PRAGMA busy_timeout = {_IMPATIENT_MS}")
        self.report(f"an operation failed: {error}")

    def _follow_file(self) -> None:
        """What is written to a file that was moved away, or removed, would be lost."""
        if self._suspended or self._file.is_current():
            return
        removed = not self._file.path.exists()
        self._reopen()
        if removed and self._connection is not None:
            self._tell("it was removed while it was in use: a new one has what was kept since")

    def _reopen(self) -> None:
        self._disconnect()
        try:
            self._open()
        except Unusable as error:
            self.give_up(f"{error.reason}; nothing more is found or stored in it")
        except FAILURES as error:
            self.give_up(f"it cannot be opened again: {error}")

    def give_up(self, reason: str) -> None:
        """From here on nothing is found, and nothing is kept."""
        self._file.writable = False
        self._disconnect()
        self.report(reason)

    def report(self, reason: str) -> None:
        """Tells a trouble, if it is the first."""
        if self.trouble is None:
            self.trouble = self._tell(reason)

    def _tell(self, reason: str) -> str:
        line = f"environment {self._file.folder}: {reason}"
        if line not in self._told:
            self._told.add(line)
            self.warn(line)
        return line

    def _replace(self) -> None:
        """A damaged file makes way for a new one."""
        self._disconnect()
        try:
            self._connection = self._file.replace()
        except Unusable as worse:
            self.give_up(worse.reason)

    # Closing

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def before_fork(self) -> None:
        """Closes the file, and lets no other thread use it until `after_fork`."""
        self._lock.acquire()
        if self._connection is not None and not self._connection.in_transaction:
            self._disconnect()
            self._suspended = True

    def after_fork(self) -> None:
        """In the parent and in the child."""
        self._lock.release()

    def close(self) -> None:
        """Closes the file; what is in the log goes into it, so that it can be copied alone."""
        with self._lock:
            if self._connection is not None and self.writable:
                with contextlib.suppress(sqlite3.Error):
                    # A script: `execute` takes the first step of it alone, which frees one page.
                    self._connection.executescript("PRAGMA incremental_vacuum")
                    self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._disconnect()
            self._suspended = False
        with _open_lock:
            _open_databases.discard(self)


_open_databases: WeakSet[Database] = WeakSet()
_forking: list[Database] = []


def _before_fork() -> None:
    _forking.extend(_open_databases)
    for database in _forking:
        database.before_fork()


def _after_fork() -> None:
    while _forking:
        _forking.pop().after_fork()


# Registered before the lock, these run inside of it: one thread forks at a time.
os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
_open_lock = lock_held_over_forks()
