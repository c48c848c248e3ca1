"""The environment: what is kept between runs, in one folder that can be shipped.

Safe on any thread, in any number of processes, and over forks. Nothing that goes wrong with it
raises into a test: a lookup finds nothing, a store says that it kept nothing, and the trouble is
told once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType

from gpurt_core.environment.artifacts import Artifacts
from gpurt_core.environment.claims import Claim, Claims
from gpurt_core.environment.database import Database
from gpurt_core.environment.entries import (
    CompilationRecord,
    EnvironmentHealth,
    QueuedEntry,
    QueueProgress,
    StoredPick,
)
from gpurt_core.environment.limit import SizeLimit
from gpurt_core.environment.picks import Picks
from gpurt_core.environment.place import Unusable
from gpurt_core.environment.queue import Queue
from gpurt_core.environment.records import Records
from gpurt_core.errors import EnvironmentUnavailable
from gpurt_core.execution.forking import lock_held_over_forks


class Environment:
    """An open environment. Use `open`."""

    def __init__(self, path: Path, database: Database, size_limit: int | None) -> None:
        self.path = path
        self._database = database
        self._dropped = self._stored = self._refused = 0
        self._artifacts = Artifacts(database, self._count_dropped)
        self._queue = Queue(database)
        self._claims = Claims(database)
        self._limit = SizeLimit(database, self._claims, size_limit)
        self._records = Records(database)
        self._picks = Picks(database, self._count_dropped)

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

        `size_limit` (bytes of artifacts) drops what was used least recently, never what this run
        uses: all processes that have it open. `warn` is told of troubles, a line each. Raises
        `EnvironmentUnavailable` where `must_write` and it cannot be written; without that there
        always is one, if need be one that keeps nothing.
        """
        folder, lines = Path(path), list[str]()
        database = Database(folder, lines.append)
        try:
            database.open()
            if must_write:
                database.require_writing()
        except Unusable as error:
            database.close()
            if must_write:
                raise EnvironmentUnavailable(folder, error.reason, error.remedy) from None
            database.give_up(f"{error.reason}; nothing is found or stored in it")
        else:
            if not database.writable:
                database.report("it cannot be written: what is missing is compiled and not stored")
        database.warn = warn or (lambda line: None)
        for line in lines:
            database.warn(line)
        return cls(folder, database, size_limit)

    @property
    def writable(self) -> bool:
        """Whether anything can be stored."""
        return self._database.writable

    @property
    def trouble(self) -> str | None:
        """The first thing that went wrong, in one line."""
        return self._database.trouble

    def close(self) -> None:
        """Notes what was used, keeps to the size limit, and closes the file."""
        self._limit.close()
        self._claims.close()
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
        content = self._artifacts.find(id)
        if content is not None:
            self._limit.note_read(id)
        return content

    def artifact_for_source(self, source_id: str) -> bytes | None:
        """An artifact that was made from a source, by the source's id."""
        found = self._artifacts.find_for_source(source_id)
        if found is None:
            return None
        id, content = found
        self._limit.note_read(id)
        return content

    def store(
        self, id: str, artifact: bytes, *, source: str | None = None, label: str = ""
    ) -> bool:
        """Keeps an artifact, by its id and by its source; says whether it was kept."""
        kept = self._artifacts.store(id, artifact, source, label)
        with _lock:
            self._stored += kept
            self._refused += not kept
        if kept:
            self._limit.note_stored(id, len(artifact))
        return kept

    def take_over(self, other: Environment) -> None:
        """Copies the artifacts that `other` has and this one has not, with their compilations."""
        for id, source, label in other._artifacts.names():
            content = None if self.artifact(id) is not None else other.artifact(id)
            if content is not None and self.store(id, content, source=source, label=label):
                self.record_compilations(other.records(id))

    def known(self, label: str) -> list[str]:
        """The ids of the artifacts of one name, the latest first."""
        return self._artifacts.known(label)

    def _count_dropped(self) -> None:
        with _lock:
            self._dropped += 1

    # The durable queue

    def queue(self, entries: Sequence[QueuedEntry]) -> None:
        """Writes down kernels that wait to be compiled; one that is there already stays."""
        self._queue.add(entries)

    def queued(self) -> list[QueuedEntry]:
        """The kernels that wait, in the order in which they came."""
        return self._queue.all()

    def take_waiting(
        self, claimed_as: str, most: int, known: Container[str] = ()
    ) -> list[QueuedEntry]:
        """Up to `most` of the kernels that wait, that are not `known` here, and that nobody alive
        has claimed under `claimed_as` and their id."""
        ids = (
            id
            for id, claimed in self._queue.waiting(claimed_as)
            if id not in known and not (claimed and self.is_claimed(claimed_as + id))
        )
        return self._queue.entries(list(islice(ids, most)))

    def queue_progress(self, claimed_as: str) -> QueueProgress:
        """How far all who share the queue are with it; work is claimed under `claimed_as`."""
        return self._queue.progress(claimed_as)

    def dequeue(self, ids: Iterable[str]) -> None:
        """Takes kernels off the queue."""
        self._queue.remove(ids)

    # Claims

    def claim(self, what: str) -> Claim | None:
        """Claims a piece of work for this process; `None` where somebody alive has it."""
        return self.claim_any([what])

    def claim_any(self, whats: Sequence[str]) -> Claim | None:
        """Claims the first of these that is free."""
        return self._claims.claim_any(whats)

    def is_claimed(self, what: str) -> bool:
        """Whether somebody alive has claimed it."""
        return self._claims.is_taken(what)

    # Records

    def record_compilation(self, record: CompilationRecord) -> None:
        """Notes a compilation."""
        self.record_compilations([record])

    def record_compilations(self, records: Sequence[CompilationRecord]) -> None:
        """Notes some compilations at once."""
        self._records.add(records)

    def records(self, id: str) -> list[CompilationRecord]:
        """The compilations of a kernel, the latest last."""
        return self._records.of(id)

    def expected_seconds(self, ids: Sequence[str], labels: Sequence[str] = ()) -> dict[str, float]:
        """How long kernels took to compile the last time: by id, or by label (given in the order of
        the ids) for one that is new. What nothing is known of is left out."""
        return self._records.expected_seconds(ids, labels)

    # Picks

    def pick(self, device: str, tuner: str, key: str, checksum: str) -> StoredPick | None:
        """The pick for a tune key; verified as artifacts are."""
        return self._picks.find(device, tuner, key, checksum)

    def store_pick(self, pick: StoredPick) -> bool:
        """Keeps a pick; says whether it was kept."""
        return self._picks.store(pick)

    def picks(self) -> list[StoredPick]:
        """All picks."""
        return self._picks.all()

    # The whole

    def health(self) -> EnvironmentHealth:
        """What there is, and what went wrong."""
        artifacts, size, picks, queued = self._database.read(_count, (0, 0, 0, 0))
        return EnvironmentHealth(
            artifacts, size, self._dropped, self._stored, self._refused, picks, queued
        )


_lock = lock_held_over_forks()


def _count(connection: sqlite3.Connection) -> tuple[int, int, int, int]:
    artifacts, size = connection.execute(
        "SELECT count(*), coalesce(sum(size), 0) FROM artifacts INDEXED BY artifacts_by_use"
    ).fetchone()
    (picks,) = connection.execute("SELECT count(*) FROM picks").fetchone()
    (queued,) = connection.execute("SELECT count(*) FROM queue").fetchone()
    return artifacts, size, picks, queued
