"""Claims: who does a piece of work, of all processes that share an environment.

A claim is its owner's for as long as the owner lives. On the same machine that is asked of the
system: a process is known by its number and by when it started. Of an owner on another machine it
is known by a beat that it keeps adding to; clocks are not compared.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import uuid
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import TracebackType

from gpurt_core.environment.database import Database
from gpurt_core.execution.forking import lock_held_over_forks

_BEAT_SECONDS = 2.0
_SILENT_SECONDS = 8.0
"""An owner on another machine that has not beaten for so long is taken for dead."""

_COLUMNS = "what, host, pid, started, token, beat"
_Row = tuple[str, str, int, str, str, int]


class Claim:
    """A piece of work that this process does. Released at the end of a block."""

    def __init__(self, claims: Claims, what: str, token: str) -> None:
        self.what = what
        self._claims = claims
        self._token = token
        self._pid = os.getpid()

    def release(self) -> None:
        """Gives it up; another may claim it. Does nothing the second time, or in a forked child."""
        if os.getpid() == self._pid:
            self._claims.release(self.what, self._token)

    def __enter__(self) -> Claim:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


class Claims:
    """The claims of one environment."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._host = _host()
        self._begin()

    def _begin(self) -> None:
        self._owner = os.getpid()
        self._held: dict[str, str] = {}
        self._seen: dict[tuple[str, str], tuple[int, float]] = {}
        self._beating: threading.Thread | None = None
        self._closed = threading.Event()

    def claim_any(self, whats: Sequence[str]) -> Claim | None:
        """The first of these that nobody alive has; `None` where all are taken.

        Where nothing can be written there is nobody to share with: it is granted. Where the disk is
        full, too: others could not give up what they have.
        """
        if not whats:
            return None
        token = uuid.uuid4().hex
        nothing: str | None = ""
        _tokens.add(token)
        taken = self._database.write(lambda c: self._take(c, whats, token), nothing)
        if taken is None and not self._database.is_full:
            _tokens.discard(token)
            return None
        if taken:
            self._hold(taken, token)
        return Claim(self, taken or whats[0], token)

    def is_taken(self, what: str) -> bool:
        """Whether somebody alive has claimed it: another process, or this one."""
        row = self._database.read(lambda c: _row(c, what), None)
        return row is not None and self._is_alive(row)

    def has_others(self, prefix: str) -> bool:
        """Whether others have a claim whose name begins so: not those made here."""
        query = f"SELECT {_COLUMNS} FROM claims WHERE substr(what, 1, ?) = ?"
        values = (len(prefix), prefix)
        rows: list[_Row] = self._database.read(lambda c: c.execute(query, values).fetchall(), [])
        with _lock:
            own = set(self._held.values()) if os.getpid() == self._owner else set()
        return any(row[4] not in own and self._is_alive(row) for row in rows)

    def release(self, what: str, token: str) -> None:
        """Gives a claim up, if it is still the one with this token.

        Where that cannot be written (the disk is full) this process takes it for free all the same,
        and the others do when it ends.
        """
        _tokens.discard(token)
        with _lock:
            if self._held.get(what) == token:
                del self._held[what]
        self._database.write(
            lambda c: c.execute("DELETE FROM claims WHERE what = ? AND token = ?", (what, token)),
            None,
        )

    def close(self) -> None:
        """Gives all up. A forked child has nothing to give up of its parent's."""
        with _lock:
            if os.getpid() != self._owner:
                self._begin()
            held, self._held = self._held, {}
        self._closed.set()
        for what, token in held.items():
            self.release(what, token)

    def _take(self, connection: sqlite3.Connection, whats: Sequence[str], token: str) -> str | None:
        for what in whats:
            row = _row(connection, what)
            if row is None or not self._is_alive(row):
                pid = os.getpid()
                connection.execute(
                    f"INSERT OR REPLACE INTO claims ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, 0)",
                    (what, self._host, pid, _started(pid) or "", token),
                )
                return what
        return None

    def _is_alive(self, row: _Row) -> bool:
        what, host, pid, started, token, beat = row
        if host == self._host:
            return _started(pid) == started and (pid != os.getpid() or token in _tokens)
        now = time.monotonic()
        known, since = self._seen.get((what, token), (-1, now))
        if beat != known:
            self._seen[what, token] = (beat, now)
            return True
        return now - since < _SILENT_SECONDS

    def _hold(self, what: str, token: str) -> None:
        with _lock:
            if os.getpid() != self._owner:  # a forked child has claims of its own alone
                self._begin()
            self._held[what] = token
            if self._beating is None:
                self._beating = threading.Thread(
                    target=self._beat, args=(self._closed,), name="gpurt-claims", daemon=True
                )
                self._beating.start()

    def _beat(self, closed: threading.Event) -> None:
        while not closed.wait(_BEAT_SECONDS):
            with _lock:
                tokens = list(self._held.values())
            if tokens:
                self._database.write(partial(_add_beats, tokens), None)


_lock = lock_held_over_forks()
_tokens: set[str] = set()
"""Of the claims that this process has, whatever environment they are of."""


def _add_beats(tokens: Sequence[str], connection: sqlite3.Connection) -> None:
    update = "UPDATE claims SET beat = beat + 1 WHERE token = ?"
    connection.executemany(update, [(token,) for token in tokens])


def _row(connection: sqlite3.Connection, what: str) -> _Row | None:
    query = f"SELECT {_COLUMNS} FROM claims WHERE what = ?"
    row: _Row | None = connection.execute(query, (what,)).fetchone()
    return row


def _host() -> str:
    """This machine, since it was started, as the processes of this container see it."""
    parts = [os.uname().nodename]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _started(pid: int) -> str | None:
    """When a process started, in ticks since the machine did; `None`: there is none, or a dead one
    that nobody has waited for."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold anything
    return None if fields[0] in "ZX" else fields[19]
