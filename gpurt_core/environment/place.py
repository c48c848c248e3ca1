"""The folder of an environment: made, protected, and judged before anything is opened in it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from pathlib import Path
from urllib.parse import quote

from gpurt_core.environment.schema import (
    APPLICATION_ID,
    APPLICATION_OFFSET,
    HEADER_SIZE,
    MAGIC,
    VERSION,
    VERSION_OFFSET,
)

FILE_NAME = "environment.db"
_ATTEMPTS = 25
"""How often, over half a second, a new file is looked at that has no mark yet."""
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Unusable(Exception):
    """A folder or a file that cannot be used: `reason`, and what to do."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


_CHOOSE = "choose another folder with --gpu-environment"


def prepare_folder(folder: Path) -> bool:
    """Makes the folder, for its owner alone; says whether files can be written in it.

    Raises `Unusable` where there is no folder to be had, or others could put code into it.
    """
    if folder.exists() and not folder.is_dir():
        raise Unusable("it is a file, not a folder", _CHOOSE)
    try:
        if not folder.exists():
            folder.mkdir(parents=True, mode=0o700)
    except OSError as error:
        raise Unusable(f"the folder cannot be made: {error.strerror}", _CHOOSE) from None
    _protect(folder)
    writable = os.access(folder, os.W_OK | os.X_OK)
    if writable and not (folder / ".gitignore").exists():
        with contextlib.suppress(OSError):
            (folder / ".gitignore").write_text("*\n")
    return writable


def _protect(folder: Path) -> None:
    status = folder.stat()
    if not status.st_mode & _OTHERS_WRITE:
        return
    if status.st_uid != os.geteuid():
        raise Unusable(
            "it belongs to somebody else, and others can write to it: what they put there, runs",
            f"{_CHOOSE}, or have its owner run chmod go-w on it",
        )
    with contextlib.suppress(OSError):
        folder.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS_WRITE)


def judge_file(path: Path) -> bool:
    """Whether there is a file of ours already; raises `Unusable` for one that is not, untouched."""
    try:
        with path.open("rb") as file:
            header = file.read(HEADER_SIZE)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise Unusable(f"{FILE_NAME} cannot be read: {error.strerror}", _CHOOSE) from None
    if not header:
        return False
    if header.startswith(MAGIC) and not _number(header, APPLICATION_OFFSET):
        header = _once_made(path, header)
    if header and _number(header, VERSION_OFFSET) == 0 and _is_empty(path):
        return False
    if not header.startswith(MAGIC) or _number(header, APPLICATION_OFFSET) != APPLICATION_ID:
        raise Unusable(f"{FILE_NAME} in it is no environment of gpurt, and is left alone", _CHOOSE)
    version = _number(header, VERSION_OFFSET)
    if version > VERSION:
        raise Unusable(
            f"it was written by a newer pytest-gpurt (format {version}, this one knows {VERSION})",
            f"upgrade pytest-gpurt, or {_CHOOSE}",
        )
    return True


def _once_made(path: Path, header: bytes) -> bytes:
    """The header once the process that is making the file has, if there is one."""
    for _attempt in range(_ATTEMPTS):
        if _number(header, APPLICATION_OFFSET):
            break
        time.sleep(0.02)
        with contextlib.suppress(OSError), path.open("rb") as file:
            header = file.read(HEADER_SIZE)
    return header


def _is_empty(path: Path) -> bool:
    """Whether a database has no tables: one whose maker died."""
    with contextlib.suppress(sqlite3.Error):
        connection = sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=ro", uri=True)
        try:
            return bool(connection.execute("SELECT count(*) = 0 FROM sqlite_schema").fetchone()[0])
        finally:
            connection.close()
    return False


def _number(header: bytes, offset: int) -> int:
    return int.from_bytes(header[offset : offset + 4], "big")
