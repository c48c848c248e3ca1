"""The file of a database, by its name: opened in the way that is right there, or replaced."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from gpurt_core.environment.lock_file import alone_in, remove_if_abandoned
from gpurt_core.environment.opening import Way, open_read_only, open_writable, way_into
from gpurt_core.environment.place import FILE_NAME, Unusable, judge_file, prepare_folder
from gpurt_core.environment.salvage import salvage
from gpurt_core.environment.trouble import is_busy, is_damage, reason_of


class DatabaseFile:
    """A file that one connection at a time is open to. Called under the lock of its database."""

    def __init__(self, folder: Path, tell: Callable[[str], object]) -> None:
        """`tell` is told of what a user should know and is no trouble."""
        self.folder = folder
        self.path = folder / FILE_NAME
        self.writable = False
        self.obstacle: str | None = None
        """Why a file that may be written cannot be."""
        self.way = Way()
        self._tell = tell
        self._inode: int | None = None

    def open(self) -> sqlite3.Connection:
        """Opens it, and makes it where there is none; raises `Unusable`."""
        self.obstacle = None
        self.writable = prepare_folder(self.folder)
        with alone_in(self.folder):
            there = judge_file(self.path)
            if self.writable and (not there or os.access(self.path, os.W_OK)):
                return self._open_usually()
        self.writable = False
        if not there:
            raise Unusable("it is empty, and cannot be written", "make it writable")
        return self._open_to_read()

    def replace(self) -> sqlite3.Connection:
        """Puts a damaged file, open nowhere here, beside, and a new one in its place.

        That one has what is whole of it. Raises `Unusable`.
        """
        with alone_in(self.folder):
            return self._replace()

    def is_current(self) -> bool:
        """Whether the file that was opened is still the one of this name."""
        return self._inode == self._current_inode()

    def _open_usually(self) -> sqlite3.Connection:
        self.way = way_into(self.folder)
        if self.way.note is not None:
            self._tell(self.way.note)
        self._inode = self._current_inode()
        try:
            return self._open_to_write()
        except sqlite3.Error as error:
            return self._open_otherwise(error)

    def _open_to_write(self) -> sqlite3.Connection:
        try:
            connection = open_writable(self.path, self.way)
        except sqlite3.Error as error:
            if not (self.way.lock_files and is_busy(error) and remove_if_abandoned(self.path)):
                raise
            connection = open_writable(self.path, self.way)
        self._inode = self._current_inode()
        return connection

    def _open_otherwise(self, error: sqlite3.Error) -> sqlite3.Connection:
        """Another way in, after the usual one failed."""
        if is_damage(error):
            return self._replace()
        reason = f"it cannot be written: {reason_of(error, self.folder)}"
        if not judge_file(self.path):
            raise Unusable(reason, "free some space, or choose another folder")
        self.writable, self.obstacle = False, reason
        return self._open_to_read()

    def _open_to_read(self) -> sqlite3.Connection:
        try:
            return open_read_only(self.path)
        except (sqlite3.Error, OSError) as error:
            raise Unusable(f"it cannot be read: {error}", "choose another folder") from None

    # Damage

    def _replace(self) -> sqlite3.Connection:
        try:
            aside = self.path.with_name(f"{FILE_NAME}.damaged-{time.time_ns()}")
            if not self._move_damaged(aside):
                return self._open_to_write()  # another process has replaced it already
            connection = self._open_to_write()
            saved = salvage(aside, connection)
        except (sqlite3.Error, OSError) as worse:
            reason = f"it is damaged, and cannot be replaced: {worse}"
            raise Unusable(reason, "move it away, or choose another folder") from None
        self._tell(
            f"{FILE_NAME} was damaged: it is {aside} now, and a new one has {saved} artifacts of it"
        )
        return connection

    def _move_damaged(self, aside: Path) -> bool:
        """Moves the file that was found to be damaged, and no other that has taken its place."""
        if not self.is_current():
            return False
        with contextlib.suppress(FileNotFoundError):
            self.path.rename(aside)
            if aside.stat().st_ino != self._inode:
                aside.rename(self.path)
                return False
            for ending in ("-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    beside = self.path.with_name(self.path.name + ending)
                    beside.rename(aside.with_name(aside.name + ending))
            return True
        return False

    def _current_inode(self) -> int | None:
        try:
            return self.path.stat().st_ino
        except OSError:
            return None
