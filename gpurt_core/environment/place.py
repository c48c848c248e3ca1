"""The folder of an environment: made, protected, and judged before anything is opened in it."""

from __future__ import annotations

import contextlib
import errno
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
_STALE_ATTEMPTS = 10
"""How often, over half a second, a file is looked at that another machine has just replaced."""
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
    try:
        if folder.exists() and not folder.is_dir():
            raise Unusable("it is a file, not a folder", _CHOOSE)
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        _protect(folder)
    except OSError as error:
        raise Unusable(f"the folder cannot be had: {error.strerror}", _CHOOSE) from None
    except ValueError as error:  # as for a null character
        raise Unusable(f"its name is no name of a folder: {error}", _CHOOSE) from None
    writable = os.access(folder, os.W_OK | os.X_OK)
    if writable and not (folder / ".gitignore").exists():
        with contextlib.suppress(OSError):
            (folder / ".gitignore").write_text("*\n")
    return writable


def _protect(folder: Path) -> None:
    """What others can write is closed to them; raises `Unusable` where that is not ours to do."""
    for path in (folder, folder / FILE_NAME):
        try:
            status = path.stat()
        except FileNotFoundError:
            return
        if not status.st_mode & _OTHERS_WRITE:
            continue
        if status.st_uid != os.geteuid():
            what = "it" if path is folder else FILE_NAME
            raise Unusable(
                f"{what} belongs to somebody else, and others can write to it: "
                "what they put there, runs",
                f"{_CHOOSE}, or have its owner run chmod go-w on it",
            )
        with contextlib.suppress(OSError):
            path.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS_WRITE)


def judge_file(path: Path) -> bool:
    """Whether there is a file of ours already; raises `Unusable` for one that is not, untouched."""
    header = _read_header(path)
    if not header:
        return False
    if len(header) < HEADER_SIZE and (header + MAGIC[len(header) :]).startswith(MAGIC):
        return True  # the start of a database, cut off: nothing in it, and damage to be told
    if header.startswith(MAGIC) and not _number(header, APPLICATION_OFFSET):
        header = _once_made(path, header)
    if _number(header, VERSION_OFFSET) == 0 and _is_empty(path):
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


def _read_header(path: Path) -> bytes:
    """The first bytes; none where there is no file. Raises `Unusable`."""
    for attempt in range(_STALE_ATTEMPTS):
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise Unusable(f"{FILE_NAME} in it is no file, and is left alone", _CHOOSE)
            with path.open("rb") as file:
                return file.read(HEADER_SIZE)
        except FileNotFoundError:
            return b""
        except OSError as error:
            if error.errno != errno.ESTALE or attempt == _STALE_ATTEMPTS - 1:
                raise Unusable(f"{FILE_NAME} cannot be read: {error.strerror}", _CHOOSE) from None
            time.sleep(0.05)
    return b""


def _once_made(path: Path, header: bytes) -> bytes:
    """The header once the process that is making the file has, if there is one."""
    for _attempt in range(_ATTEMPTS):
        if _number(header, APPLICATION_OFFSET):
            break
        time.sleep(0.02)
        header = _read_header(path) or header
    return header


def _is_empty(path: Path) -> bool:
    """Whether a database has no tables: one whose maker died. It is not written to, nor beside."""
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        return False  # ours gets its tables before it has a log
    with contextlib.suppress(sqlite3.Error):
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1", uri=True
        )
        try:
            return bool(connection.execute("SELECT count(*) = 0 FROM sqlite_schema").fetchone()[0])
        finally:
            connection.close()
    return False


def _number(header: bytes, offset: int) -> int:
    return int.from_bytes(header[offset : offset + 4], "big")
