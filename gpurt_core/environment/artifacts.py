"""Artifacts: found by their kernel's id or by their source, and verified whenever they are read."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from gpurt_core.environment.checksum import checksum
from gpurt_core.environment.database import Database

_COLUMNS = "id, source, label, checksum, size, used, content"


class Artifacts:
    """The artifacts of one environment."""

    def __init__(self, database: Database, on_dropped: Callable[[], object]) -> None:
        """`on_dropped` is told of each that is damaged."""
        self._database = database
        self._on_dropped = on_dropped

    def find(self, id: str) -> bytes | None:
        """What is kept under an id; a damaged one is dropped, and was not there."""
        found = self._find("id = ?", id)
        return None if found is None else found[1]

    def find_for_source(self, source: str) -> tuple[str, bytes] | None:
        """The id and content of one that was made from a source."""
        return self._find("source = ?", source)

    def _find(self, condition: str, value: str) -> tuple[str, bytes] | None:
        columns = "rowid, id, source, checksum, content"
        query = f"SELECT {columns} FROM artifacts WHERE {condition} LIMIT 1"
        row: tuple[int, str, str | None, bytes, bytes] | None = self._database.read(
            lambda c: c.execute(query, (value,)).fetchone(), None
        )
        if row is None:
            return None
        place, id, source, digest, content = row
        if not isinstance(content, bytes) or checksum(id, source, content) != digest:
            self._database.write(lambda c: _drop(c, place, digest), None)
            self._on_dropped()
            return None
        return id, content

    def store(self, id: str, content: bytes, source: str | None, label: str) -> bool:
        """Keeps one; says whether it was kept."""
        digest = checksum(id, source, content)
        row = (id, source, label, digest, len(content), time.time(), content)
        insert = f"INSERT OR REPLACE INTO artifacts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        return self._database.write(lambda c: c.execute(insert, row) is not None, False)

    def known(self, label: str) -> list[str]:
        """The ids of those with a label, the latest first."""
        query = "SELECT id FROM artifacts WHERE label = ? ORDER BY used DESC"
        return self._database.read(lambda c: [row[0] for row in c.execute(query, (label,))], [])

    def names(self) -> list[tuple[str, str | None, str]]:
        """The id, source and label of each."""
        query = "SELECT id, source, label FROM artifacts"
        return self._database.read(lambda c: c.execute(query).fetchall(), [])


def _drop(connection: sqlite3.Connection, place: int, digest: bytes) -> None:
    """Not one that another process has put there since."""
    connection.execute("DELETE FROM artifacts WHERE rowid = ? AND checksum = ?", (place, digest))
