"""The SQLite file behind an environment: opened, shared by threads, and survived.

One connection per process, behind a lock; the child of a fork opens its own. Each operation is one
transaction. What goes wrong is told once, in one line, and makes an operation come to nothing: it
never raises into the code that uses the environment.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from gpurt_core.environment.place import FILE_NAME, Unusable, judge_file, prepare_folder
from gpurt_core.environment.schema import APPLICATION_ID, TABLES, VERSION

_BUSY_SECONDS = 30.0
"""How long one process waits for another's transaction; each takes milliseconds."""
_LOG_ATTEMPTS = 50
"""How often write-ahead logging is tried, over a second; without it all is right, and slower."""

T = TypeVar("T")


class Database:
    """An open file, or what is left of one: nothing is found, nothing is kept."""

    def __init__(self, folder: Path, warn: Callable[[str], object]) -> None:
        """Raises `Unusable` where there is nothing that can be read."""
        self.folder = folder
        self.path = folder / FILE_NAME
        self.trouble: str | None = None
        self.writable = prepare_folder(folder)
        self._warn = warn
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self._left_to_parent: list[sqlite3.Connection] = []
        self._owner = os.getpid()
        self._dotfile_locks = False
        self._open()

    # Opening

    def _open(self) -> None:
        there = judge_file(self.path)
        if not self.writable or (there and not os.access(self.path, os.W_OK)):
            self.writable = False
            if not there:
                raise Unusable("it is empty, and cannot be written", "make it writable")
            self._connection = self._connect(self._read_only_query())
            return
        try:
            self._connection = self._open_writable()
        except sqlite3.Error as error:
            self._open_after(error)
        self._inode = self._current_inode()

    def _open_after(self, error: sqlite3.Error) -> None:
        """Another way in, after the first one failed."""
        if _is_damage(error):
            self._set_aside()
        elif _is_locking(error):
            self._dotfile_locks = True
            self._connection = self._open_writable()
            self.report(
                "its file system has no locks; lock files are used instead, which is slower",
                lasting=False,
            )
        elif _is_full(error) and judge_file(self.path):
            self.writable = False
            self._connection = self._connect(self._read_only_query())
            self.report(f"it cannot be written: {error}")
        else:
            raise Unusable(f"it cannot be written: {error}", "free some space, or choose another")

    def _open_writable(self) -> sqlite3.Connection:
        connection = self._connect("mode=rwc" + "&vfs=unix-dotfile" * self._dotfile_locks)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self, query: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(self.path))}?{query}",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA mmap_size = 0")  # a truncated file would end the process
        return connection

    def _read_only_query(self) -> str:
        """A file that nobody can be writing needs no locks, which a folder may not allow."""
        log = self.path.with_name(FILE_NAME + "-wal")
        unfinished = log.exists() and log.stat().st_size > 0
        return "mode=ro" if unfinished else "mode=ro&immutable=1"

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Tables, for a new file; write-ahead logging, where the file system can do that."""
        with contextlib.suppress(OSError):
            self.path.chmod(0o600)
        connection.execute("PRAGMA synchronous = NORMAL")
        if _version(connection) == 0:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        # Before the log is used: the marks are in the file itself, where others look for them.
        with _transaction(connection):
            if _version(connection) == 0:
                for statement in TABLES.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
        if not self._dotfile_locks:
            _use_log(connection)

    # Using

    def read(self, operation: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """What the operation finds; `otherwise` where the file cannot tell."""
        with self._lock:
            return self._attempt(operation, otherwise)

    def write(self, operation: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Runs an operation in a transaction; `otherwise` where nothing can be kept."""
        if not self.writable:
            return otherwise

        def in_transaction(connection: sqlite3.Connection) -> T:
            with _transaction(connection):
                return operation(connection)

        with self._lock:
            return self._attempt(in_transaction, otherwise)

    def _attempt(self, operation: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        for last in (False, True):
            connection = self._current()
            if connection is None:
                return otherwise
            try:
                return operation(connection)
            except sqlite3.Error as error:
                if last or not self._recover(error):
                    return otherwise
        return otherwise

    def _current(self) -> sqlite3.Connection | None:
        if os.getpid() != self._owner:
            self._owner = os.getpid()
            if self._connection is not None:
                # Closing it here would drop locks that the parent holds: it is only let go of.
                self._left_to_parent.append(self._connection)
                self._connection = None
                with contextlib.suppress(Unusable, sqlite3.Error):
                    self._open()
        return self._connection

    def _recover(self, error: sqlite3.Error) -> bool:
        """Whether the operation is worth another try; tells what is wrong."""
        if _is_damage(error):
            try:
                self._set_aside()
            except (Unusable, sqlite3.Error, OSError) as worse:
                self._give_up(f"it is damaged, and cannot be replaced: {worse}")
                return False
            return self._connection is not None
        if _is_full(error):
            self.report(f"nothing more can be stored: {error}")
        else:
            self.report(f"an operation failed: {error}")
        return False

    def _give_up(self, reason: str) -> None:
        self.writable = False
        self._connection = None
        self.report(reason)

    def report(self, reason: str, *, lasting: bool = True) -> None:
        """Tells a trouble, the first time that it comes up."""
        line = f"environment {self.folder}: {reason}"
        if self.trouble is None:
            if lasting:
                self.trouble = line
            self._warn(line)

    # Damage

    def _set_aside(self) -> None:
        """Puts a damaged file beside, and a new one with what is whole of it in its place."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
        if self._inode and self._current_inode() not in (0, self._inode):
            self._connection = self._open_writable()  # another process has replaced it already
            self._inode = self._current_inode()
            return
        aside = self.path.with_name(f"{FILE_NAME}.damaged-{time.time_ns()}")
        self.path.rename(aside)
        for ending in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                self.path.with_name(FILE_NAME + ending).rename(aside.with_name(aside.name + ending))
        self._connection = self._open_writable()
        self._inode = self._current_inode()
        saved = _salvage(aside, self._connection)
        self.report(
            f"{FILE_NAME} was damaged: it is {aside.name} now, and a new one has "
            f"{saved} artifacts of it",
            lasting=False,
        )

    def _current_inode(self) -> int:
        try:
            return self.path.stat().st_ino
        except OSError:
            return 0

    def close(self) -> None:
        """Closes the file; what is in the log goes into it, so that it can be copied alone."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is None or os.getpid() != self._owner:
                return
            with contextlib.suppress(sqlite3.Error):
                if self.writable:
                    connection.execute("PRAGMA incremental_vacuum")
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            with contextlib.suppress(sqlite3.Error):
                connection.close()


def _use_log(connection: sqlite3.Connection) -> None:
    """Others that are opening it at this moment are in the way; no handler of SQLite waits here."""
    for _attempt in range(_LOG_ATTEMPTS):
        try:
            connection.execute("PRAGMA journal_mode = WAL")  # stays as it was where it cannot
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY"):
                raise
            time.sleep(0.02)
        else:
            return


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of a block or nothing; no other process writes meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    try:
        connection.execute("COMMIT")
    except sqlite3.Error:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _salvage(damaged: Path, connection: sqlite3.Connection) -> int:
    """Copies what can be read of the artifacts: from the front, then from the back."""
    columns = "id, source, label, checksum, size, used, content"
    insert = f"INSERT OR IGNORE INTO artifacts ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)"
    with contextlib.suppress(sqlite3.Error):
        old = sqlite3.connect(f"file:{quote(os.fsencode(damaged))}?mode=ro&immutable=1", uri=True)
        for order in ("", "DESC"):
            with contextlib.suppress(sqlite3.Error):
                for row in old.execute(f"SELECT {columns} FROM artifacts ORDER BY rowid {order}"):
                    connection.execute(insert, row)
        old.close()
    return int(connection.execute("SELECT count(*) FROM artifacts").fetchone()[0])


# Names of results: https://www.sqlite.org/rescode.html


def _is_damage(error: sqlite3.Error) -> bool:
    return _name(error).startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "no such" in str(error)


def _is_locking(error: sqlite3.Error) -> bool:
    name = _name(error)
    return name == "SQLITE_PROTOCOL" or (name.startswith("SQLITE_IOERR") and "LOCK" in name)


def _is_full(error: sqlite3.Error) -> bool:
    return _name(error).startswith(("SQLITE_FULL", "SQLITE_READONLY", "SQLITE_IOERR"))


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "")
