"""How large an environment may grow: what was used least recently goes, never what a run uses.

A run may be many processes, and what each has read is noted when it closes the environment: reading
must not be writing. So nothing is dropped while another process of the run has it open; the last
one to close drops, and nothing that was used since it opened.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Sequence

from gpurt_core.environment.claims import Claims
from gpurt_core.environment.database import Database
from gpurt_core.execution.forking import lock_held_over_forks

_PRESENT = "open:"


class SizeLimit:
    """What one process has used, and the limit that it keeps to (bytes of artifacts)."""

    def __init__(self, database: Database, claims: Claims, limit: int | None) -> None:
        self._database = database
        self._claims = claims
        self._limit = limit
        self._opened = time.time()
        self._used: set[str] = set()
        self._size: int | None = None
        self._look_at = 0 if limit is None else limit
        self._presence = None
        if limit is not None:
            self._presence = claims.claim_any([_PRESENT + uuid.uuid4().hex])

    def note_read(self, id: str) -> None:
        """It is not dropped in this run."""
        self._used.add(id)

    def note_stored(self, id: str, size: int) -> None:
        """It is not dropped in this run; others may be."""
        self._used.add(id)
        if self._limit is None:
            return
        with _lock:
            if self._size is not None:
                self._size += size
            look = self._size is None or self._size > self._look_at
        if look:
            self._keep()

    def close(self) -> None:
        """Notes what was used, and keeps to the limit where this is the last process."""
        used = list(self._used)
        if used:
            self._database.write(lambda c: _mark_used(c, used), None)
        if self._presence is not None:
            self._presence.release()
            self._keep()

    def _keep(self) -> None:
        limit = self._limit
        if limit is None or self._claims.has_others(_PRESENT):
            return
        size: int | None = self._database.write(
            lambda c: _drop_least_used(c, limit, self._opened, self._used), None
        )
        if size is not None:
            with _lock:
                self._size = size
                # What this run alone uses more stays, and is not counted anew with each artifact.
                self._look_at = limit if size <= limit else size + limit // 20


_lock = lock_held_over_forks()


def _mark_used(connection: sqlite3.Connection, ids: Sequence[str]) -> None:
    now = time.time()
    connection.executemany(
        "UPDATE artifacts SET used = ? WHERE id = ? AND used < ?", [(now, id, now) for id in ids]
    )


def _drop_least_used(
    connection: sqlite3.Connection, limit: int, opened: float, used: set[str]
) -> int:
    """How many bytes there are afterwards."""
    total = "SELECT coalesce(sum(size), 0) FROM artifacts INDEXED BY artifacts_by_use"
    size: int = connection.execute(total).fetchone()[0]
    dropped = []
    oldest_first = "SELECT id, size FROM artifacts WHERE used < ? ORDER BY used"
    if size > limit:
        for id, bytes_ in connection.execute(oldest_first, (opened,)):
            if size <= limit:
                break
            if id not in used:
                dropped.append((id,))
                size -= bytes_
    connection.executemany("DELETE FROM artifacts WHERE id = ?", dropped)
    return size
