"""What an error of SQLite means for an environment.

The names of results: https://www.sqlite.org/rescode.html
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

FAILURES = (sqlite3.Error, ValueError, OverflowError)
"""What an operation raises: by SQLite, or for a value that it cannot hold."""

_NO_SPACE = (
    "SQLITE_IOERR_WRITE",
    "SQLITE_IOERR_FSYNC",
    "SQLITE_IOERR_TRUNCATE",
    "SQLITE_IOERR_SHMSIZE",
    "SQLITE_FULL",
    "SQLITE_READONLY",
)
_LITTLE = 64 * 1024
"""Bytes that are free on a disk that has no room for a log and the memory that goes with it."""
_PASSING = ("SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_PROTOCOL", "SQLITE_READONLY_DBMOVED")


def is_damage(error: Exception) -> bool:
    """The file is no longer what was written."""
    lost = str(error).startswith(("no such table", "no such column"))
    return lost or _name(error).startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def is_busy(error: Exception) -> bool:
    """Another process has had the file to itself for too long."""
    return _name(error).startswith("SQLITE_BUSY")


def is_passing(error: Exception) -> bool:
    """The file may serve once it is opened again: as one that another machine has just written."""
    name = _name(error)
    return name.startswith(_PASSING) and not is_lack_of_space(error)


def is_lack_of_space(error: Exception) -> bool:
    """Nothing more can be written; what there is can be read."""
    name = _name(error)
    return name.startswith(_NO_SPACE) and name != "SQLITE_READONLY_DBMOVED"


def reason_of(error: Exception, folder: Path) -> str:
    """Why nothing can be written: SQLite says of many a full disk that it has an error."""
    try:
        is_full = shutil.disk_usage(folder).free < _LITTLE
    except OSError:
        is_full = False
    return "its disk is full" if is_full else str(error)


def _name(error: Exception) -> str:
    return getattr(error, "sqlite_errorname", "")
