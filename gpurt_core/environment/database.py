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

from gpurt_core.environment.lock_file import alone_in, remove_if_abandoned
from gpurt_core.environment.opening import Way, open_read_only, open_writable, way_into
from gpurt_core.environment.place import FILE_NAME, Unusable, judge_file, prepare_folder
from gpurt_core.environment.salvage import salvage
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
        self.folder = folder
        self.path = folder / FILE_NAME
        self.writable = False
        self.trouble: str | None = None
        self.warn = warn
        self._obstacle = ""
        self._told: set[str] = set()
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._suspended = False
        self._inode: int | None = None
        self._way = Way()
        self._reopenings_left = _REOPENINGS

    # Opening

    def open(self) -> None:
        """Raises `Unusable` where there is nothing that can be read."""
        self._open()
        with _open_lock:
            _open_databases.add(self)

    def _open(self) -> None:
        self._suspended = False
        self.writable = prepare_folder(self.folder)
        with alone_in(self.folder):
            there = judge_file(self.path)
            if self.writable and (not there or os.access(self.path, os.W_OK)):
                self._open_usually()
                return
        self.writable = False
        if not there:
            raise Unusable("it is empty, and cannot be written", "make it writable")
        self._open_to_read()

    def _open_usually(self) -> None:
        self._way = way_into(self.folder)
        if self._way.note is not None:
            self._tell(self._way.note)
        self._inode = self._current_inode()
        try:
            self._open_to_write()
        except sqlite3.Error as error:
            self._open_otherwise(error)

    def _open_to_write(self) -> None:
        try:
            self._connection = open_writable(self.path, self._way)
        except sqlite3.Error as error:
            if not (self._way.lock_files and is_busy(error) and remove_if_abandoned(self.path)):
                raise
            self._connection = open_writable(self.path, self._way)
        self._inode = self._current_inode()

    def _open_otherwise(self, error: sqlite3.Error) -> None:
        """Another way in, after the usual one failed."""
        if is_damage(error):
            self._replace()
        elif judge_file(self.path):
            self.writable = False
            self._open_to_read()
            self._obstacle = f"it cannot be written: {reason_of(error, self.folder)}"
            self.report(f"{self._obstacle}; what is missing is not stored")
        else:
            raise Unusable(f"it cannot be written: {reason_of(error, self.folder)}", _FREE)

    def _open_to_read(self) -> None:
        try:
            self._connection = open_read_only(self.path)
        except (sqlite3.Error, OSError) as error:
            raise Unusable(f"it cannot be read: {error}", "choose another folder") from None

    def require_writing(self) -> None:
        """Writes, to see whether that can be done; raises `Unusable`."""
        if not self.writable or self._connection is None:
            if self._obstacle:
                raise Unusable(self._obstacle, _FREE)
            raise Unusable("it cannot be written", "make it writable, or choose another folder")
        try:
            with self._lock, transaction(self._connection):
                self._connection.execute(f"PRAGMA user_version = {VERSION}")
        except sqlite3.Error as error:
            reason = f"it cannot be written: {reason_of(error, self.folder)}"
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
            try:
                with alone_in(self.folder):
                    self._replace()
            except Unusable as worse:
                self.give_up(worse.reason)
            return self._connection is not None
        if (is_damage(error) or is_passing(error)) and self._reopenings_left:
            self._reopenings_left -= 1
            time.sleep(0.05)  # another machine's file system may need that long to show what it has
            self._reopen()
            return self._connection is not None
        if is_busy(error) and self._way.lock_files:
            return remove_if_abandoned(self.path)
        return False

    def _report_failure(self, error: Exception) -> None:
        if is_lack_of_space(error):
            self.report(f"nothing more can be stored: {reason_of(error, self.folder)}")
            return
        if is_busy(error) and self._connection is not None:
            self._connection.execute(f"PRAGMA busy_timeout = {_IMPATIENT_MS}")
        self.report(f"an operation failed: {error}")

    def _follow_file(self) -> None:
        """What is written to a file that was moved away, or removed, would be lost."""
        if not self._suspended and self._inode != self._current_inode():
            self._reopen()

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
        self.writable = False
        self._disconnect()
        self.report(reason)

    def report(self, reason: str) -> None:
        """Tells a trouble, if it is the first."""
        if self.trouble is None:
            self.trouble = self._tell(reason)

    def _tell(self, reason: str) -> str:
        line = f"environment {self.folder}: {reason}"
        if line not in self._told:
            self._told.add(line)
            self.warn(line)
        return line

    # Damage

    def _replace(self) -> None:
        """A whole file in the place of a damaged one; raises `Unusable`."""
        try:
            self._set_aside()
        except (sqlite3.Error, OSError) as worse:
            reason = f"it is damaged, and cannot be replaced: {worse}"
            raise Unusable(reason, "move it away, or choose another folder") from None

    def _set_aside(self) -> None:
        """Puts a damaged file beside, and a new one with what is whole of it in its place."""
        self._disconnect()
        aside = self.path.with_name(f"{FILE_NAME}.damaged-{time.time_ns()}")
        if not self._move_damaged(aside):
            self._open_to_write()  # another process has replaced it already
            return
        for ending in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                self.path.with_name(FILE_NAME + ending).rename(aside.with_name(aside.name + ending))
        self._open_to_write()
        assert self._connection is not None
        saved = salvage(aside, self._connection)
        self._tell(
            f"{FILE_NAME} was damaged: it is {aside} now, and a new one has {saved} artifacts of it"
        )

    def _move_damaged(self, aside: Path) -> bool:
        """Moves the file that was found to be damaged, and no other that has taken its place."""
        if self._current_inode() != self._inode:
            return False
        with contextlib.suppress(FileNotFoundError):
            self.path.rename(aside)
            if aside.stat().st_ino == self._inode:
                return True
            aside.rename(self.path)
        return False

    def _current_inode(self) -> int | None:
        try:
            return self.path.stat().st_ino
        except OSError:
            return None

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
