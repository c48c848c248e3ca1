"""The ways into the file of an environment, and which of them a file system has."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from gpurt_core.environment.filesystem import has_locks, shared_file_system
from gpurt_core.environment.schema import APPLICATION_ID, TABLES, VERSION
from gpurt_core.environment.transactions import transaction
from gpurt_core.environment.trouble import is_busy

_CHANGING_SECONDS = 1.0
"""How long a change of the journal is tried; others may be opening the file."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a file is written."""

    logs: bool = True
    """With a write-ahead log: readers and a writer do not wait for each other."""
    lock_files: bool = False
    """With a lock file, in the place of locks of the system."""
    note: str | None = None
    """Why it is not the usual way, for the user."""

    @property
    def patience(self) -> float:
        """How long SQLite waits for another process (seconds); a transaction takes milliseconds.

        A lock file may be a dead process's: it is looked at sooner.
        """
        return 3.0 if self.lock_files else 30.0


def way_into(folder: Path) -> Way:
    """The way that is right on the file system of a folder."""
    if not has_locks(folder):
        note = "its file system has no locks: lock files are used instead, which is slower"
        return Way(logs=False, lock_files=True, note=note)
    kind = shared_file_system(folder)
    if kind is not None:
        note = f"its file system ({kind}) is shared by machines: no log is used, which is slower"
        return Way(logs=False, note=note)
    return Way()


def open_writable(path: Path, way: Way) -> sqlite3.Connection:
    """Opens the file, and makes it where there is none; raises `sqlite3.Error`."""
    connection = _connect(path, "mode=rwc" + "&vfs=unix-dotfile" * way.lock_files, way.patience)
    try:
        with contextlib.suppress(OSError):
            path.chmod(0o600)
        if way.logs:
            connection.execute("PRAGMA synchronous = NORMAL")
            _make_tables(connection)
            _use_journal(connection, "WAL")
        else:
            # In this mode a file that was written with a log elsewhere opens without shared memory.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            _use_journal(connection, "DELETE")
            connection.execute("PRAGMA locking_mode = NORMAL")
            _make_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_read_only(path: Path) -> sqlite3.Connection:
    """Opens a file that cannot be written; raises `sqlite3.Error`."""
    log = path.with_name(path.name + "-wal")
    if not (log.exists() and log.stat().st_size):
        # Nobody is writing it: it needs no locks and no files beside it, which cannot be had here.
        return _connect(path, "mode=ro&immutable=1")
    connection = _connect(path, "mode=ro")
    try:
        _version(connection)
    except sqlite3.OperationalError:
        connection.close()
        return _open_copy(path, log)
    return connection


def _open_copy(path: Path, log: Path) -> sqlite3.Connection:
    """A file whose last writer was killed needs its log put in: a copy does, where it is read."""
    with tempfile.TemporaryDirectory(prefix="gpurt-") as folder:
        copy = Path(folder, path.name)
        try:
            shutil.copyfile(path, copy)
            shutil.copyfile(log, copy.with_name(copy.name + "-wal"))
        except OSError as error:
            raise sqlite3.OperationalError(f"it cannot be copied to be read: {error}") from None
        connection = _connect(copy, "mode=rw")
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.close()
        connection = _connect(copy, "mode=ro&immutable=1")
        _version(connection)  # the file is open from here on, and needs its name no longer
    return connection


def _connect(path: Path, query: str, patience: float = 30.0) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?{query}",
        uri=True,
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,
    )
    # Damaged text must not be an error, which would come for ever: its checksum tells it.
    connection.text_factory = _decode
    connection.execute("PRAGMA mmap_size = 0")  # a truncated file would end the process
    return connection


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


def _make_tables(connection: sqlite3.Connection) -> None:
    """For a new file; before a log is used: the marks are in the file, where others look."""
    if _version(connection):
        return
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    with transaction(connection):
        if not _version(connection):
            for statement in TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")


def _use_journal(connection: sqlite3.Connection, mode: str) -> None:
    """Others that are opening it at this moment are in the way; no handler of SQLite waits here.

    A file that can have no log stays as it is: all is right, and slower. One that has a log and
    must not is not to be used: raises `sqlite3.Error`.
    """
    deadline = time.monotonic() + _CHANGING_SECONDS
    while True:
        try:
            connection.execute(f"PRAGMA journal_mode = {mode}")
        except sqlite3.OperationalError as error:
            in_time = time.monotonic() < deadline
            if not is_busy(error) or (mode == "DELETE" and not in_time):
                raise
            if not in_time:
                return
            time.sleep(0.02)
        else:
            return


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
