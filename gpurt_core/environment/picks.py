"""Picks: which candidate was measured to be the best for a tune key."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from gpurt_core.environment.checksum import checksum
from gpurt_core.environment.database import Database
from gpurt_core.environment.entries import StoredPick

_COLUMNS = "device, tuner, key, checksum, candidate, samples, at, digest"
_Row = tuple[str, str, str, str, str, str, float, bytes]


class Picks:
    """The picks of one environment; each is verified when it is read."""

    def __init__(self, database: Database, on_dropped: Callable[[], object]) -> None:
        self._database = database
        self._on_dropped = on_dropped

    def find(self, device: str, tuner: str, key: str, checksum: str) -> StoredPick | None:
        """The pick for a key; a damaged one is dropped, and was not there."""
        query = (
            f"SELECT {_COLUMNS} FROM picks "
            "WHERE device = ? AND tuner = ? AND key = ? AND checksum = ?"
        )
        values = (device, tuner, key, checksum)
        row: _Row | None = self._database.read(lambda c: c.execute(query, values).fetchone(), None)
        if row is None:
            return None
        pick = _read(row)
        if pick is None:
            self._database.write(lambda c: _delete(c, values), None)
            self._on_dropped()
        return pick

    def store(self, pick: StoredPick) -> bool:
        """Keeps it in the place of an earlier one; says whether it was kept."""
        samples = json.dumps({name: list(times) for name, times in pick.samples.items()})
        content = (pick.device, pick.tuner, pick.key, pick.checksum, pick.candidate, samples)
        row = (*content, pick.at, checksum(*content))
        insert = f"INSERT OR REPLACE INTO picks ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        return self._database.write(lambda c: c.execute(insert, row) is not None, False)

    def all(self) -> list[StoredPick]:
        """Every pick that is whole."""
        query = f"SELECT {_COLUMNS} FROM picks ORDER BY at"
        rows: list[_Row] = self._database.read(lambda c: c.execute(query).fetchall(), [])
        return [pick for row in rows if (pick := _read(row)) is not None]


def _delete(connection: sqlite3.Connection, values: tuple[str, ...]) -> None:
    connection.execute(
        "DELETE FROM picks WHERE device = ? AND tuner = ? AND key = ? AND checksum = ?", values
    )


def _read(row: _Row) -> StoredPick | None:
    if checksum(*row[:6]) != row[7]:
        return None
    return StoredPick(*row[:5], samples=_Samples(row[5]), at=row[6])


class _Samples(Mapping[str, Sequence[float]]):
    """Samples that are read when they are asked for: who only wants the pick is answered sooner."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _read(self) -> dict[str, list[float]]:
        samples: dict[str, list[float]] = json.loads(self._text)
        return samples

    def __getitem__(self, candidate: str) -> Sequence[float]:
        return self._read[candidate]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)

    def __repr__(self) -> str:
        return repr(self._read)
