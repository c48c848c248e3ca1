"""Saves what is whole of a damaged file. What is copied is verified when it is read, as ever."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

from gpurt_core.environment.transactions import transaction

_TABLES = {
    "artifacts": ("rowid", "id, source, label, checksum, size, used, content"),
    "picks": ("at", "device, tuner, key, checksum, candidate, samples, at, digest"),
    "queue": ("place", "id, payload, label"),
}


def salvage(damaged: Path, connection: sqlite3.Connection) -> int:
    """Copies artifacts, picks and the queue; says how many artifacts there are."""
    log = damaged.with_name(damaged.name + "-wal")
    query = "mode=ro" if log.exists() else "mode=ro&immutable=1"
    with contextlib.suppress(sqlite3.Error):
        old = sqlite3.connect(f"file:{quote(os.fsencode(damaged))}?{query}", uri=True)
        try:
            # SQLite refuses a file that is shorter than it says, unless it is opened for repairs.
            old.execute("PRAGMA writable_schema = ON")
            with transaction(connection):
                for table in _TABLES:
                    _copy(table, old, connection)
        finally:
            old.close()
    with contextlib.suppress(OSError):
        damaged.with_name(damaged.name + "-shm").unlink()
    return int(connection.execute("SELECT count(*) FROM artifacts").fetchone()[0])


def _copy(table: str, old: sqlite3.Connection, connection: sqlite3.Connection) -> None:
    """From the front up to the damage, then from the back."""
    order_by, columns = _TABLES[table]
    marks = ", ".join("?" * len(columns.split(",")))
    insert = f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})"
    for order in ("", "DESC"):
        with contextlib.suppress(sqlite3.Error):
            for row in old.execute(f"SELECT {columns} FROM {table} ORDER BY {order_by} {order}"):
                with contextlib.suppress(sqlite3.IntegrityError):
                    connection.execute(insert, row)
