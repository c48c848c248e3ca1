"""File systems without locks, of several machines, or late to show what was written."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from gpurt_core.environment import Environment, filesystem
from gpurt_core.environment.filesystem import has_locks, shared_file_system
from gpurt_core.environment.lock_file import remove_if_abandoned
from tests.environment.child_scripts import WRITE, kill, run, said_by_all, start
from tests.environment.without_locks import FCNTL

needs_filter = pytest.mark.skipif(FCNTL is None, reason="the filter is for x86-64 and arm64")

NO_LOCKS = """
from tests.environment.without_locks import refuse_locks
refuse_locks()
"""

USE = """
import sys
from gpurt_core.environment import Environment
lines = []
with Environment.open(sys.argv[1], must_write=True, warn=lines.append) as environment:
    print(environment.artifact("before"), environment.store("a", b"x"), environment.artifact("a"))
    with environment.claim("kernel") as claim:
        print(environment.claim("kernel"))
print(*lines, sep="\\n")
"""

NOTE = "its file system has no locks: lock files are used instead, which is slower"


def test_where_there_are_locks_they_are_found(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").touch()
    assert has_locks(tmp_path)


@needs_filter
def test_without_locks_a_new_environment_works_and_says_so_once(tmp_path: Path) -> None:
    assert run(NO_LOCKS + USE, tmp_path) == [
        "None True b'x'",
        "None",
        f"environment {tmp_path}: {NOTE}",
    ]


@needs_filter
def test_one_that_was_made_where_there_are_locks_works_without_and_back_again(
    tmp_path: Path,
) -> None:
    with Environment.open(tmp_path) as environment:
        environment.store("before", b"1")
    assert run(NO_LOCKS + USE, tmp_path)[0] == "b'1' True b'x'"
    assert run(USE, tmp_path) == ["b'1' True b'x'", "None", ""]
    assert journal_of(tmp_path) == "wal"


@needs_filter
def test_processes_without_locks_lose_nothing(tmp_path: Path) -> None:
    writers = [start(NO_LOCKS + WRITE, tmp_path, f"w{n}", 15) for n in range(4)]
    assert said_by_all(writers) == ["done\n"] * 4
    with Environment.open(tmp_path) as environment:
        assert environment.health().artifacts == 61
        assert all(environment.artifact(f"w{n}-{i}") for n in range(4) for i in range(15))


@needs_filter
def test_without_locks_what_a_killed_process_has_locked_is_free_within_seconds(
    tmp_path: Path,
) -> None:
    hold = """
import sys, time
from gpurt_core.environment import Environment
environment = Environment.open(sys.argv[1])
environment.store("before", b"1")
def stop(connection):
    connection.execute("DELETE FROM artifacts")
    print("holding", flush=True)
    time.sleep(60)
environment._database.write(stop, None)
"""
    holder = start(NO_LOCKS + hold, tmp_path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "holding\n"
    kill(holder)
    assert (tmp_path / "environment.db.lock").exists()
    sooner = "from gpurt_core.environment import lock_file\nlock_file._WATCHED_SECONDS = 0.5\n"
    assert run(NO_LOCKS + sooner + USE, tmp_path)[0] == "b'1' True b'x'"


def test_a_lock_file_that_changes_hands_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "environment.db.lock"
    lock.mkdir()

    def change_hands(_seconds: float) -> None:
        lock.rmdir()
        lock.mkdir()
        (tmp_path / "between").touch()

    monkeypatch.setattr("gpurt_core.environment.lock_file.time.sleep", change_hands)
    assert remove_if_abandoned(tmp_path / "environment.db")
    assert lock.exists()


def journal_of(folder: Path) -> str:
    connection = sqlite3.connect(folder / "environment.db")
    mode = str(connection.execute("PRAGMA journal_mode").fetchone()[0])
    connection.close()
    return mode


MOUNTS = """\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
23 22 0:40 / {folder} rw,relatime shared:5 - {kind} server:/export rw
24 22 0:41 / {folder}er rw,relatime - tmpfs tmpfs rw
"""


def mount(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch, beside: Path) -> None:
    """Has the system say that a folder is a mounted file system of some kind."""
    table = beside / "mountinfo"
    escaped = str(folder).replace(" ", "\\040")
    table.write_text(MOUNTS.format(folder=escaped, kind=kind))
    monkeypatch.setattr(filesystem, "MOUNTS", table)


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "lustre", "fuse.sshfs"])
def test_a_file_system_of_several_machines_has_no_log_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    folder = tmp_path / "a share"
    with Environment.open(folder) as environment:
        environment.store("before", b"1")
    assert journal_of(folder) == "wal"
    mount(folder, kind, monkeypatch, tmp_path)
    lines: list[str] = []
    with Environment.open(folder, must_write=True, warn=lines.append) as environment:
        assert environment.artifact("before") == b"1"
        assert environment.store("a", b"x")
        assert environment.trouble is None
    assert len(lines) == 1
    assert f"its file system ({kind}) is shared by machines" in lines[0]
    assert journal_of(folder) == "delete"


def test_processes_on_a_file_system_of_several_machines_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "share"
    mount(folder, "nfs", monkeypatch, tmp_path)
    shared = "import sys\nfrom pathlib import Path\nfrom gpurt_core.environment import filesystem\n"
    shared += f"filesystem.MOUNTS = Path({str(filesystem.MOUNTS)!r})\n"
    writers = [start(shared + WRITE, folder, f"w{n}", 15) for n in range(4)]
    assert said_by_all(writers) == ["done\n"] * 4
    assert journal_of(folder) == "delete"
    with Environment.open(folder) as environment:
        assert environment.health().artifacts == 61


def test_the_deepest_mount_decides_and_a_name_that_only_begins_so_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount(tmp_path / "a share", "nfs", monkeypatch, tmp_path)
    assert shared_file_system(tmp_path / "a share") == "nfs"
    assert shared_file_system(tmp_path / "a share" / "below") == "nfs"
    assert shared_file_system(tmp_path / "a shareer" / "below") is None
    assert shared_file_system(tmp_path / "a sharing") is None
    assert shared_file_system(tmp_path) is None
    filesystem.MOUNTS.unlink()
    assert shared_file_system(tmp_path / "a share") is None


def test_a_file_that_another_machine_has_just_replaced_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Environment.open(tmp_path) as environment:
        environment.store("a", b"x")
    plain_open, stale = Path.open, [OSError(errno.ESTALE, "Stale file handle")] * 3

    def open_late(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.name == "environment.db" and stale:
            raise stale.pop()
        return plain_open(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", open_late)
    lines: list[str] = []
    with Environment.open(tmp_path, warn=lines.append) as environment:
        assert environment.artifact("a") == b"x"
    assert not stale
    assert lines == []


class Failing:
    """A connection of which the next operations fail, with an error of SQLite."""

    def __init__(self, connection: sqlite3.Connection, name: str, left: list[int]) -> None:
        self._connection = connection
        self._name = name
        self._left = left

    def execute(self, *arguments: Any) -> Any:
        if self._left[0]:
            self._left[0] -= 1
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorname = self._name
            raise error
        return self._connection.execute(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def make_fail(environment: Environment, name: str, times: int) -> None:
    database = environment._database
    assert database._connection is not None
    failing: Any = Failing(database._connection, name, [times])
    database._connection = failing


@pytest.mark.parametrize(
    "name", ["SQLITE_IOERR_READ", "SQLITE_IOERR_SHORT_READ", "SQLITE_CANTOPEN"]
)
def test_an_error_that_passes_when_the_file_is_opened_again_is_none(
    tmp_path: Path, name: str
) -> None:
    lines: list[str] = []
    with Environment.open(tmp_path, warn=lines.append) as environment:
        environment.store("a", b"x")
        make_fail(environment, name, 1)
        assert environment.artifact("a") == b"x"
        make_fail(environment, name, 1)
        assert environment.store("b", b"y")
        assert lines == []


def test_an_error_that_stays_is_told_once_and_costs_a_run_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    pauses: list[float] = []
    monkeypatch.setattr("gpurt_core.environment.database.time.sleep", pauses.append)
    with Environment.open(tmp_path, warn=lines.append) as environment:
        environment.store("a", b"x")
        opened = environment._database._open

        def open_broken() -> None:
            opened()
            make_fail(environment, "SQLITE_IOERR_READ", 1_000_000)

        monkeypatch.setattr(environment._database, "_open", open_broken)
        make_fail(environment, "SQLITE_IOERR_READ", 1_000_000)
        assert all(environment.artifact("a") is None for _ in range(200))
        assert len(lines) == 1
        assert "an operation failed: disk I/O error" in lines[0]
        assert 0 < len(pauses) <= 20
