"""Records of compilations: how long each kernel takes, which the next run plans by."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import partial

from gpurt_core.environment.database import Database
from gpurt_core.environment.entries import CompilationRecord

_COLUMNS = "id, label, seconds, outcome, arch, compiler, log, at"
_KEPT = 3
"""Records that are kept of one kernel."""
_AT_ONCE = 400


class Records:
    """The records of one environment."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, records: Sequence[CompilationRecord]) -> None:
        """Notes some compilations; old ones of the same kernels go."""
        rows = [
            (r.id, r.label, r.seconds, r.outcome, r.arch, r.compiler, r.log, r.at) for r in records
        ]
        insert = f"INSERT INTO records ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        trim = (
            "DELETE FROM records WHERE id = ? AND rowid NOT IN "
            f"(SELECT rowid FROM records WHERE id = ? ORDER BY at DESC LIMIT {_KEPT})"
        )

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany(insert, rows)
            connection.executemany(trim, [(r.id, r.id) for r in records])

        if rows:
            self._database.write(write, None)

    def of(self, id: str) -> list[CompilationRecord]:
        """The records of a kernel, the latest last."""
        query = f"SELECT {_COLUMNS} FROM records WHERE id = ? ORDER BY at"
        return self._database.read(
            lambda c: [CompilationRecord(*row) for row in c.execute(query, (id,))], []
        )

    def expected_seconds(self, ids: Sequence[str], labels: Sequence[str]) -> dict[str, float]:
        """The longest that each took, by id, else by label."""
        by_id = self._longest("id", ids)
        missing = [label for id, label in zip(ids, labels, strict=False) if id not in by_id]
        by_label = self._longest("label", missing)
        for id, label in zip(ids, labels, strict=False):
            if id not in by_id and label in by_label:
                by_id[id] = by_label[label]
        return by_id

    def _longest(self, column: str, values: Sequence[str]) -> dict[str, float]:
        found: dict[str, float] = {}
        for start in range(0, len(values), _AT_ONCE):
            some = values[start : start + _AT_ONCE]
            nothing: dict[str, float] = {}
            found.update(self._database.read(partial(_longest, column, some), nothing))
        return found


def _longest(
    column: str, values: Sequence[str], connection: sqlite3.Connection
) -> dict[str, float]:
    marks = ",".join("?" * len(values))
    query = (
        f"SELECT {column}, max(seconds) FROM records WHERE {column} IN ({marks}) GROUP BY {column}"
    )
    return dict(connection.execute(query, list(values)).fetchall())
