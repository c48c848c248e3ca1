"""The durable queue: kernels that were gathered, and that nobody has compiled yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpurt_core.environment.database import Database
from gpurt_core.environment.entries import QueuedEntry, QueueProgress

_MADE = "EXISTS (SELECT 1 FROM artifacts WHERE artifacts.id = queue.id)"
_CLAIMED = "EXISTS (SELECT 1 FROM claims WHERE claims.what = ? || queue.id)"


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

    def waiting(self, claimed_as: str) -> list[tuple[str, bool]]:
        """The ids of the entries of which there is no artifact, in order, and whether there is a
        claim of that name, `claimed_as` and the id."""
        query = f"SELECT id, {_CLAIMED} FROM queue WHERE NOT {_MADE} ORDER BY place"
        return self._database.read(
            lambda c: [(id, bool(claimed)) for id, claimed in c.execute(query, (claimed_as,))], []
        )

    def entries(self, ids: Sequence[str]) -> list[QueuedEntry]:
        """These entries, as far as they are there."""
        query = "SELECT id, payload, label FROM queue WHERE id = ?"
        return self._database.read(
            lambda c: [QueuedEntry(*row) for id in ids for row in c.execute(query, (id,))], []
        )

    def progress(self, claimed_as: str) -> QueueProgress:
        """How far it is."""
        left = f"SELECT count(*) FROM queue WHERE NOT {_MADE}"
        made = "SELECT count(*) FROM artifacts INDEXED BY artifacts_by_use"
        at_work = f"SELECT label FROM queue WHERE {_CLAIMED} AND NOT {_MADE}"
        return self._database.read(
            lambda c: QueueProgress(
                left=c.execute(left).fetchone()[0],
                made=c.execute(made).fetchone()[0],
                at_work=tuple(label for (label,) in c.execute(at_work, (claimed_as,))),
            ),
            QueueProgress(),
        )

    def remove(self, ids: Iterable[str]) -> None:
        """Takes entries off."""
        rows = [(id,) for id in ids]
        delete = "DELETE FROM queue WHERE id = ?"
        if rows:
            self._database.write(lambda c: c.executemany(delete, rows), None)
