"""The durable queue: kernels that were gathered, and that nobody has compiled yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpurt_core.environment.database import Database
from gpurt_core.environment.entries import QueuedEntry


class Queue:
    """The queue of one environment."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, entries: Sequence[QueuedEntry]) -> None:
        """Writes entries down, all at once; one that is there already stays."""
        rows = [(entry.id, entry.payload, entry.label) for entry in entries]
        insert = "INSERT OR IGNORE INTO queue (id, payload, label) VALUES (?, ?, ?)"
        if rows:
            self._database.write(lambda c: c.executemany(insert, rows), None)

    def all(self) -> list[QueuedEntry]:
        """The entries, in the order in which they came."""
        query = "SELECT id, payload, label FROM queue ORDER BY place"
        return self._database.read(lambda c: [QueuedEntry(*row) for row in c.execute(query)], [])

    def remove(self, ids: Iterable[str]) -> None:
        """Takes entries off."""
        rows = [(id,) for id in ids]
        delete = "DELETE FROM queue WHERE id = ?"
        if rows:
            self._database.write(lambda c: c.executemany(delete, rows), None)
