"""The environment: what is kept between runs, in one folder that can be shipped.

Safe on any thread, in any number of processes, and over forks. Nothing that goes wrong with it
raises into a test: a lookup finds nothing, a store says that it kept nothing, and the trouble is
told once.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType

from gpurt_core.environment.claims import Claim, Claims
from gpurt_core.environment.database import Database
from gpurt_core.environment.entries import (
    CompilationRecord,
    EnvironmentHealth,
    QueuedEntry,
    StoredPick,
)
from gpurt_core.environment.picks import Picks
from gpurt_core.environment.place import Unusable
from gpurt_core.environment.records import Records
from gpurt_core.errors import EnvironmentUnavailable


class Environment:
    """An open environment. Use `open`."""

    def __init__(
        self, path: Path, database: Database | None, trouble: str | None, size_limit: int | None
    ) -> None:
        self.path = path
        self._database = database
        self._trouble = trouble
        self._size_limit = size_limit
        self._lock = threading.Lock()
        self._used: set[str] = set()
        self._dropped = self._stored = self._refused = 0
        self._claims = None if database is None else Claims(database)
        self._records = None if database is None else Records(database)
        self._picks = None if database is None else Picks(database, self._count_dropped)

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        size_limit: int | None = None,
        must_write: bool = False,
        warn: Callable[[str], object] | None = None,
    ) -> Environment:
        """Opens the environment in a folder, and makes it where there is none.

        `size_limit` (bytes) drops what was used least recently, never what this run uses. `warn` is
        told of troubles, a line each. Raises `EnvironmentUnavailable` where `must_write` and it
        cannot be written; without that there always is one, if need be one that keeps nothing.
        """
        folder, tell = Path(path), warn or (lambda line: None)
        try:
            database = Database(folder, tell)
        except Unusable as error:
            if must_write:
                raise EnvironmentUnavailable(folder, error.reason, error.remedy) from None
            line = f"environment {folder}: {error.reason}; nothing is found or stored in it"
            tell(line)
            return cls(folder, None, line, size_limit)
        if not database.writable:
            if must_write:
                database.close()
                raise EnvironmentUnavailable(
                    folder, "it cannot be written", "make it writable, or choose another folder"
                )
            database.report("it cannot be written: what is missing is compiled and not stored")
        return cls(folder, database, None, size_limit)

    @property
    def writable(self) -> bool:
        """Whether anything can be stored."""
        return self._database is not None and self._database.writable

    @property
    def trouble(self) -> str | None:
        """The first thing that went wrong, in one line."""
        return self._trouble if self._database is None else self._database.trouble

    def close(self) -> None:
        """Notes what was used, keeps to the size limit, and closes the file."""
        if self._database is None:
            return
        if self._claims is not None:
            self._claims.close()
        used = list(self._used)
        if used:
            self._database.write(lambda c: _mark_used(c, used), None)
        self._keep_to_limit()
        self._database.close()

    def __enter__(self) -> Environment:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # Artifacts

    def artifact(self, id: str) -> bytes | None:
        """What is kept under an id; verified: a damaged one is dropped, and was not there."""
        return self._find("id", id)

    def artifact_for_source(self, source_id: str) -> bytes | None:
        """An artifact that was made from a source, by the source's id."""
        return self._find("source", source_id)

    def _find(self, column: str, value: str) -> bytes | None:
        if self._database is None:
            return None
        row = self._database.read(lambda c: _find_artifact(c, column, value), None)
        if row is None:
            return None
        id, checksum, content = row
        if not isinstance(content, bytes) or _checksum(content) != checksum:
            self._database.write(
                lambda c: c.execute("DELETE FROM artifacts WHERE id = ?", (id,)), None
            )
            self._count_dropped()
            return None
        self._used.add(id)
        return content

    def store(
        self, id: str, artifact: bytes, *, source: str | None = None, label: str = ""
    ) -> bool:
        """Keeps an artifact, by its id and by its source; says whether it was kept."""
        row = (id, source, label, _checksum(artifact), len(artifact), time.time(), artifact)
        kept = self._database is not None and self._database.write(
            lambda c: _insert_artifact(c, row), False
        )
        with self._lock:
            self._stored += kept
            self._refused += not kept
        if kept:
            self._used.add(id)
            self._keep_to_limit()
        return kept

    def take_over(self, other: Environment) -> None:
        """Copies the artifacts that `other` has and this one has not."""
        if other._database is None:
            return
        query = "SELECT id, source, label FROM artifacts"
        rows: list[tuple[str, str | None, str]] = other._database.read(
            lambda c: c.execute(query).fetchall(), []
        )
        for id, source, label in rows:
            content = None if self.artifact(id) is not None else other.artifact(id)
            if content is not None:
                self.store(id, content, source=source, label=label)

    def known(self, label: str) -> list[str]:
        """The ids of the artifacts of one name, the latest first."""
        if self._database is None:
            return []
        query = "SELECT id FROM artifacts WHERE label = ? ORDER BY used DESC"
        return self._database.read(lambda c: [row[0] for row in c.execute(query, (label,))], [])

    def _keep_to_limit(self) -> None:
        limit = self._size_limit
        if limit is None or self._database is None:
            return
        self._database.write(lambda c: _drop_least_used(c, limit, self._used), None)

    def _count_dropped(self) -> None:
        with self._lock:
            self._dropped += 1

    # The durable queue

    def queue(self, entries: Sequence[QueuedEntry]) -> None:
        """Writes down kernels that wait to be compiled; one that is there already stays."""
        rows = [(entry.id, entry.payload, entry.label) for entry in entries]
        if self._database is not None and rows:
            insert = "INSERT OR IGNORE INTO queue (id, payload, label) VALUES (?, ?, ?)"
            self._database.write(lambda c: c.executemany(insert, rows), None)

    def queued(self) -> list[QueuedEntry]:
        """The kernels that wait, in the order in which they came."""
        if self._database is None:
            return []
        query = "SELECT id, payload, label FROM queue ORDER BY place"
        return self._database.read(lambda c: [QueuedEntry(*row) for row in c.execute(query)], [])

    def dequeue(self, ids: Iterable[str]) -> None:
        """Takes kernels off the queue."""
        rows = [(id,) for id in ids]
        if self._database is not None and rows:
            self._database.write(
                lambda c: c.executemany("DELETE FROM queue WHERE id = ?", rows), None
            )

    # Claims

    def claim(self, what: str) -> Claim | None:
        """Claims a piece of work for this process; `None` where somebody alive has it."""
        return self.claim_any([what])

    def claim_any(self, whats: Sequence[str]) -> Claim | None:
        """Claims the first of these that is free."""
        return None if self._claims is None else self._claims.claim_any(whats)

    def is_claimed(self, what: str) -> bool:
        """Whether somebody alive has claimed it."""
        return self._claims is not None and self._claims.is_taken(what)

    # Records

    def record_compilation(self, record: CompilationRecord) -> None:
        """Notes a compilation."""
        self.record_compilations([record])

    def record_compilations(self, records: Sequence[CompilationRecord]) -> None:
        """Notes some compilations at once."""
        if self._records is not None:
            self._records.add(records)

    def records(self, id: str) -> list[CompilationRecord]:
        """The compilations of a kernel, the latest last."""
        return [] if self._records is None else self._records.of(id)

    def expected_seconds(self, ids: Sequence[str], labels: Sequence[str] = ()) -> dict[str, float]:
        """How long kernels took to compile the last time: by id, or by label (given in the order of
        the ids) for one that is new. What nothing is known of is left out."""
        return {} if self._records is None else self._records.expected_seconds(ids, labels)

    # Picks

    def pick(self, device: str, tuner: str, key: str, checksum: str) -> StoredPick | None:
        """The pick for a tune key; verified as artifacts are."""
        return None if self._picks is None else self._picks.find(device, tuner, key, checksum)

    def store_pick(self, pick: StoredPick) -> bool:
        """Keeps a pick; says whether it was kept."""
        return self._picks is not None and self._picks.store(pick)

    def picks(self) -> list[StoredPick]:
        """All picks."""
        return [] if self._picks is None else self._picks.all()

    # The whole

    def health(self) -> EnvironmentHealth:
        """What there is, and what went wrong."""
        artifacts, size, picks, queued = (0, 0, 0, 0)
        if self._database is not None:
            artifacts, size, picks, queued = self._database.read(_count, (0, 0, 0, 0))
        return EnvironmentHealth(
            artifacts, size, self._dropped, self._stored, self._refused, picks, queued
        )


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def _find_artifact(
    connection: sqlite3.Connection, column: str, value: str
) -> tuple[str, bytes, object] | None:
    query = f"SELECT id, checksum, content FROM artifacts WHERE {column} = ? LIMIT 1"
    row: tuple[str, bytes, object] | None = connection.execute(query, (value,)).fetchone()
    return row


def _insert_artifact(connection: sqlite3.Connection, row: tuple[object, ...]) -> bool:
    connection.execute(
        "INSERT OR REPLACE INTO artifacts (id, source, label, checksum, size, used, content) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        row,
    )
    return True


def _mark_used(connection: sqlite3.Connection, ids: Sequence[str]) -> None:
    now = time.time()
    connection.executemany(
        "UPDATE artifacts SET used = ? WHERE id = ? AND used < ?", [(now, id, now) for id in ids]
    )


def _drop_least_used(connection: sqlite3.Connection, limit: int, used: set[str]) -> None:
    (size,) = connection.execute("SELECT coalesce(sum(size), 0) FROM artifacts").fetchone()
    if size <= limit:
        return
    dropped = []
    for id, bytes_ in connection.execute("SELECT id, size FROM artifacts ORDER BY used"):
        if size <= limit:
            break
        if id not in used:
            dropped.append((id,))
            size -= bytes_
    connection.executemany("DELETE FROM artifacts WHERE id = ?", dropped)


def _count(connection: sqlite3.Connection) -> tuple[int, int, int, int]:
    artifacts, size = connection.execute(
        "SELECT count(*), coalesce(sum(size), 0) FROM artifacts INDEXED BY artifacts_by_use"
    ).fetchone()
    (picks,) = connection.execute("SELECT count(*) FROM picks").fetchone()
    (queued,) = connection.execute("SELECT count(*) FROM queue").fetchone()
    return artifacts, size, picks, queued
