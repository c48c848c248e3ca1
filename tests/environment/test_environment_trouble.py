"""Environments that cannot be used, or no longer: told once, and nothing kept is lost."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpurt_core.environment import (
    Environment,
    EnvironmentUnavailable,
    QueuedEntry,
    StoredPick,
)
from gpurt_core.environment.lock_file import alone_in
from tests.environment.child_scripts import ROOT, said_by_all, start

PICK = StoredPick("gpu", "scale", '["scale",64]', "c1", "vector4", {"vector4": [1e-6]}, 1.0)


def fill(folder: Path, number: int = 3) -> None:
    with Environment.open(folder) as environment:
        for i in range(number):
            environment.store(f"id{i}", f"artifact {i}".encode() * 200, label="saxpy")


def a_file(folder: Path) -> None:
    folder.write_text("not a folder")


def a_text(folder: Path) -> None:
    folder.mkdir()
    (folder / "environment.db").write_text("not a database, and somebody's")


def a_foreign_database(folder: Path) -> None:
    folder.mkdir()
    connection = sqlite3.connect(folder / "environment.db")
    connection.execute("CREATE TABLE theirs (x)")
    connection.commit()
    connection.close()


def a_later_version(folder: Path) -> None:
    fill(folder)
    connection = sqlite3.connect(folder / "environment.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()


CASES = [
    (a_file, "it is a file, not a folder"),
    (a_text, "is no environment of gpurt, and is left alone"),
    (a_foreign_database, "is no environment of gpurt, and is left alone"),
    (a_later_version, "written by a newer pytest-gpurt (format 99"),
]


@pytest.mark.parametrize(("make", "reason"), CASES)
def test_what_is_no_environment_is_said_in_one_line_and_left_as_it_was(
    tmp_path: Path, make: Callable[[Path], None], reason: str
) -> None:
    folder = tmp_path / "env"
    make(folder)
    before = content_of(folder)
    with pytest.raises(EnvironmentUnavailable) as caught:
        Environment.open(folder, must_write=True)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)
    lines: list[str] = []
    with Environment.open(folder, warn=lines.append) as environment:
        assert environment.artifact("id0") is None
        assert not environment.store("a", b"x")
        assert not environment.writable
        assert environment.trouble == lines[0]
    assert len(lines) == 1
    assert content_of(folder) == before


def content_of(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else [p for p in path.rglob("*") if p.name != ".gitignore"]
    return {str(file): file.read_bytes() for file in files}


def test_a_damaged_file_is_set_aside_and_what_is_whole_of_it_goes_on(tmp_path: Path) -> None:
    fill(tmp_path, 300)
    path = tmp_path / "environment.db"
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 8192] = b"\xff" * 8192
    path.write_bytes(content)
    lines: list[str] = []
    with Environment.open(tmp_path, must_write=True, warn=lines.append) as environment:
        found = [i for i in range(300) if environment.artifact(f"id{i}") is not None]
        assert all(environment.artifact(f"id{i}") == f"artifact {i}".encode() * 200 for i in found)
        assert environment.store("new", b"x")
        environment.health()
    assert 100 < len(found) < 300
    with Environment.open(tmp_path) as environment:
        assert environment.artifact("new") == b"x"


@pytest.mark.parametrize("size", [4096, 5000])
def test_a_file_that_was_cut_short_is_set_aside(tmp_path: Path, size: int) -> None:
    fill(tmp_path, 100)
    path = tmp_path / "environment.db"
    os.truncate(path, size)
    lines: list[str] = []
    with Environment.open(tmp_path, must_write=True, warn=lines.append) as environment:
        assert environment.artifact("id0") is None
        assert environment.store("new", b"x")
        assert environment.artifact("new") == b"x"
    assert len(lines) == 1
    assert "was damaged" in lines[0]
    assert len(list(tmp_path.glob("environment.db.damaged-*"))) >= 1


SCRIPT = """
import os, sys
from gpurt_core.environment import Environment, EnvironmentUnavailable
folder, must_write = sys.argv[1], sys.argv[2] == "must"
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
lines = []
try:
    environment = Environment.open(folder, must_write=must_write, warn=lines.append)
except EnvironmentUnavailable as error:
    print("unavailable:", error.reason)
    raise SystemExit
print(environment.artifact("id1") is not None, environment.store("a", b"x"), len(lines))
print(*lines)
environment.close()
"""


def read_as_somebody_else(folder: Path, must: str) -> list[str]:
    """As root nothing is read-only: then the script becomes nobody."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), must],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.splitlines()


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    """Below /tmp: the folders of `tmp_path` are closed to nobody."""
    folder = Path(f"/tmp/gpurt-read-only-{os.getpid()}")
    fill(folder)
    (folder / "environment.db").chmod(0o444)
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_read_only_environment_serves_and_says_once_that_it_stores_nothing(
    read_only_folder: Path,
) -> None:
    answer, line = read_as_somebody_else(read_only_folder, "may")
    assert answer == "True False 1"
    assert "it cannot be written" in line
    assert str(read_only_folder) in line
    assert {path.name for path in read_only_folder.iterdir()} == {".gitignore", "environment.db"}


def test_one_that_must_be_written_and_is_read_only_is_unavailable(read_only_folder: Path) -> None:
    assert read_as_somebody_else(read_only_folder, "must") == ["unavailable: it cannot be written"]


@pytest.mark.parametrize("whole", [True, False])
def test_one_that_is_removed_in_use_is_made_anew_and_says_so(tmp_path: Path, whole: bool) -> None:
    lines: list[str] = []
    folder = tmp_path / "kept"
    with Environment.open(folder, warn=lines.append) as environment:
        assert environment.store("before", b"1")
        if whole:
            shutil.rmtree(folder)
        else:
            for path in folder.glob("environment.db*"):
                path.unlink()
        assert environment.store("since", b"2")
        assert environment.artifact("before") is None
        assert environment.artifact("since") == b"2"
    assert lines == [
        f"environment {folder}: it was removed while it was in use: "
        "a new one has what was kept since"
    ]
    with Environment.open(folder) as environment:
        assert environment.artifact("since") == b"2"


def test_a_full_disk_is_told_once_and_what_was_stored_before_is_there(tmp_path: Path) -> None:
    lines: list[str] = []
    with Environment.open(tmp_path, must_write=True, warn=lines.append) as environment:
        assert environment.store("before", bytes(100))
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, unlimited[1]))
        try:
            kept = [environment.store(f"big{i}", os.urandom(100_000)) for i in range(6)]
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        assert kept[0]
        assert not kept[-1]
        assert environment.artifact("before") == bytes(100)
        assert environment.artifact("big0") is not None
        assert environment.health().refused == kept.count(False)
        assert environment.trouble == lines[0]
    assert len(lines) == 1
    assert "nothing more can be stored: " in lines[0]
    with Environment.open(tmp_path) as environment:
        assert environment.artifact("before") == bytes(100)


@pytest.mark.parametrize("name", ["/proc/nothing/here", "/dev/null/below", "n" * 300, "a\0b"])
def test_a_folder_that_cannot_be_had_is_told_and_raises_nothing(name: str) -> None:
    lines: list[str] = []
    with Environment.open(name, warn=lines.append) as environment:
        assert environment.artifact("a") is None
        assert environment.artifact_for_source("a") is None
        assert not environment.store("a", b"x")
        assert environment.claim("kernel") is not None
        assert (environment.queued(), environment.picks(), environment.known("x")) == ([], [], [])
        assert environment.health().refused == 1
    assert len(lines) == 1
    assert name in lines[0]
    with pytest.raises(EnvironmentUnavailable):
        Environment.open(name, must_write=True)


def test_a_folder_behind_one_that_is_closed_to_us_raises_nothing() -> None:
    closed = Path(f"/tmp/gpurt-closed-{os.getpid()}")
    closed.mkdir(mode=0o700)
    try:
        answer, line = read_as_somebody_else(closed / "below" / "env", "may")
    finally:
        closed.rmdir()
    assert answer == "False False 1"
    assert "Permission denied" in line


def test_a_pipe_in_the_place_of_the_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "environment.db")
    with Environment.open(tmp_path) as environment:
        assert "it is no environment" not in str(environment.trouble)
        assert "is no file, and is left alone" in str(environment.trouble)


@pytest.mark.parametrize("size", [1, 40, 99])
def test_a_file_of_which_only_the_first_bytes_are_left_is_set_aside(
    tmp_path: Path, size: int
) -> None:
    fill(tmp_path)
    os.truncate(tmp_path / "environment.db", size)
    with Environment.open(tmp_path, must_write=True) as environment:
        assert environment.artifact("id0") is None
        assert environment.store("new", b"x")
    with Environment.open(tmp_path) as environment:
        assert environment.artifact("new") == b"x"


def test_of_a_file_that_lost_its_second_half_what_is_in_the_first_goes_on(tmp_path: Path) -> None:
    with Environment.open(tmp_path) as environment:
        environment.queue([QueuedEntry("q", "payload", "label")])
        environment.store_pick(PICK)
        for i in range(100):
            environment.store(f"id{i}", os.urandom(3000))
    path = tmp_path / "environment.db"
    os.truncate(path, path.stat().st_size // 2)
    lines: list[str] = []
    with Environment.open(tmp_path, must_write=True, warn=lines.append) as environment:
        found = [i for i in range(100) if environment.artifact(f"id{i}") is not None]
        assert len(found) > 20
        assert environment.queued() == [QueuedEntry("q", "payload", "label")]
        assert environment.picks() == [PICK]
        assert environment.trouble is None
    assert len(lines) == 1
    assert f"{path}.damaged-" in lines[0]


OPEN_DAMAGED = """
import sys
from gpurt_core.environment import Environment
sys.stdin.readline()
with Environment.open(sys.argv[1]) as environment:
    print(sum(environment.store(f"{sys.argv[2]}{i}", b"x" * 500) for i in range(50)))
"""


def test_processes_that_find_damage_at_once_lose_nothing_that_they_store(tmp_path: Path) -> None:
    fill(tmp_path)
    path = tmp_path / "environment.db"
    content = bytearray(path.read_bytes())
    content[105:4096] = b"\xff" * (4096 - 105)
    path.write_bytes(content)
    writers = [start(OPEN_DAMAGED, tmp_path, f"w{n}-") for n in range(4)]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    assert said_by_all(writers) == ["50\n"] * 4
    with Environment.open(tmp_path) as environment:
        assert environment.health().artifacts == 200


@pytest.mark.parametrize("what", ["open", "replace"])
def test_a_file_is_not_opened_or_replaced_while_another_process_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    plain_sleep, waits, done = time.sleep, threading.Event(), threading.Event()

    def sleep(seconds: float) -> None:
        waits.set()
        plain_sleep(seconds)

    with Environment.open(tmp_path) as environment:
        environment.store("a", b"x")

        def work() -> None:
            if what == "open":
                Environment.open(tmp_path).close()
            else:
                environment._database._replace()
            done.set()

        thread = threading.Thread(target=work)
        with alone_in(tmp_path):
            monkeypatch.setattr("gpurt_core.environment.lock_file.time.sleep", sleep)
            thread.start()
            assert waits.wait(20)
            assert not done.is_set()
        thread.join()
        assert done.is_set()
        assert environment.artifact("a") == b"x"


def test_a_file_that_another_process_has_replaced_is_not_set_aside_again(tmp_path: Path) -> None:
    lines: list[str] = []
    with (
        Environment.open(tmp_path, warn=lines.append) as one,
        Environment.open(tmp_path, warn=lines.append) as other,
    ):
        one.store("old", b"x")
        one._database._replace()
        assert one.store("new", b"y")
        other._database._replace()
        assert other.artifact("old") == b"x"
        assert other.artifact("new") == b"y"
        assert one.store("newer", b"z")
        assert other.artifact("newer") == b"z"
    assert len(list(tmp_path.glob("*.damaged-*[0-9]"))) == 1
    assert len(lines) == 1


def test_a_file_that_is_moved_away_during_a_run_is_made_anew(tmp_path: Path) -> None:
    with Environment.open(tmp_path / "env") as environment:
        environment.store("a", b"x")
        (tmp_path / "env").rename(tmp_path / "gone")
        assert environment.store("b", b"y")
        assert environment.artifact("b") == b"y"
        assert environment.trouble is None
    with Environment.open(tmp_path / "env") as environment:
        assert environment.artifact("b") == b"y"
    with Environment.open(tmp_path / "gone") as environment:
        assert environment.artifact("a") == b"x"


def test_a_damaged_index_leads_to_no_other_kernels_artifact(tmp_path: Path) -> None:
    with Environment.open(tmp_path) as environment:
        environment.store("a" * 64, b"of a", source="s" * 64)
        environment.store("b" * 64, b"of b", source="t" * 64)
    path = tmp_path / "environment.db"
    content = path.read_bytes()
    # The ids of the rows are swapped, and those of the index are not, as by a write that was lost.
    row = content.index(b"a" * 64 + b"s" * 64), content.index(b"b" * 64 + b"t" * 64)
    swapped = bytearray(content)
    swapped[row[0] : row[0] + 64], swapped[row[1] : row[1] + 64] = b"b" * 64, b"a" * 64
    path.write_bytes(swapped)
    with Environment.open(tmp_path) as environment:
        assert environment.artifact("a" * 64) in (None, b"of a")
        assert environment.artifact("b" * 64) in (None, b"of b")
        assert environment.artifact_for_source("s" * 64) in (None, b"of a")
        assert environment.artifact_for_source("t" * 64) in (None, b"of b")


def test_a_text_that_is_no_text_any_longer_is_dropped_and_can_be_stored_again(
    tmp_path: Path,
) -> None:
    with Environment.open(tmp_path) as environment:
        environment.store("a", b"x", source="of a")
    connection = sqlite3.connect(tmp_path / "environment.db")
    connection.execute("UPDATE artifacts SET source = CAST(x'ff80' AS TEXT)")
    connection.commit()
    connection.close()
    with Environment.open(tmp_path) as environment:
        assert environment.artifact("a") is None
        assert environment.health().dropped == 1
        assert environment.store("a", b"x", source="of a")
        assert environment.artifact("a") == b"x"
        assert environment.trouble is None


def test_a_value_that_the_file_cannot_hold_is_not_stored_and_raises_nothing(tmp_path: Path) -> None:
    lines: list[str] = []
    with Environment.open(tmp_path, warn=lines.append) as environment:
        assert not environment.store("a", b"x", label="\udcff")
        assert environment.artifact("a") is None
        assert environment.store("b", b"y")
        assert len(lines) == 1


def test_a_writer_that_stands_still_is_waited_for_once_and_not_at_each_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpurt_core.environment.database._IMPATIENT_MS", 1)
    lines: list[str] = []
    with Environment.open(tmp_path, warn=lines.append) as environment:
        environment.store("before", b"x")
        connection = environment._database._connection
        assert connection is not None
        connection.execute("PRAGMA busy_timeout = 100")
        other = sqlite3.connect(tmp_path / "environment.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert not environment.store("a", b"x")
        assert connection.execute("PRAGMA busy_timeout").fetchone() == (1,)
        assert environment.artifact("before") == b"x"
        assert not environment.store("a", b"x")
        other.execute("ROLLBACK")
        other.close()
        assert environment.store("a", b"x")
    assert len(lines) == 1
    assert "database is locked" in lines[0]


def test_the_log_of_a_killed_run_is_read_where_nothing_can_be_written() -> None:
    folder = Path(f"/tmp/gpurt-log-{os.getpid()}")
    kill_after = "import os, signal, sys\nfrom gpurt_core.environment import Environment\n"
    kill_after += "environment = Environment.open(sys.argv[1])\n"
    kill_after += "environment.store('id1', b'x' * 1000)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    try:
        start(kill_after, folder).communicate(timeout=60)
        assert (folder / "environment.db-wal").stat().st_size > 0
        (folder / "environment.db-shm").unlink()
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)
        answer, line = read_as_somebody_else(folder, "may")
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)
    assert answer == "True False 1"
    assert "it cannot be written" in line


def test_a_damaged_file_that_cannot_be_written_stays_where_it_is(read_only_folder: Path) -> None:
    path = read_only_folder / "environment.db"
    path.chmod(0o644)
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))
    path.chmod(0o444)
    damaged = path.read_bytes()
    answer, *lines = read_as_somebody_else(read_only_folder, "may")
    assert answer == "False False 1"
    assert "it cannot be written" in lines[0]
    assert path.read_bytes() == damaged
    assert {path.name for path in read_only_folder.iterdir()} == {".gitignore", "environment.db"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to somebody else")
@pytest.mark.parametrize("which", ["folder", "file"])
def test_what_somebody_else_opened_to_all_is_not_used(tmp_path: Path, which: str) -> None:
    fill(tmp_path)
    path = tmp_path if which == "folder" else tmp_path / "environment.db"
    os.chown(path, 65534, 65534)
    path.chmod(0o777)
    with Environment.open(tmp_path) as environment:
        assert environment.artifact("id0") is None
        assert "others can write to it: what they put there, runs" in str(environment.trouble)
    with pytest.raises(EnvironmentUnavailable, match="chmod go-w"):
        Environment.open(tmp_path, must_write=True)


FULL = """
import os, sys
from pathlib import Path
from gpurt_core.environment import Environment, EnvironmentUnavailable
disk, lines = Path(sys.argv[1]), []
def fill(left):
    free = os.statvfs(disk)
    with open(disk / "filler", "wb", buffering=0) as file:
        while os.statvfs(disk).f_bavail * free.f_frsize > left:
            file.write(bytes(4096))

environment = Environment.open(disk / "env", must_write=True, warn=lines.append)
assert environment.store("before", bytes(1000))
fill(300_000)
kept = [environment.store(f"big{i}", os.urandom(100_000)) for i in range(9)]
assert kept[0] and not kept[-1], kept
assert environment.artifact("before") == bytes(1000)
assert environment.artifact("big0") is not None
assert environment.health().refused == kept.count(False)
(disk / "filler").unlink()
assert environment.store("again", bytes(100_000))
environment.close()
print(len(lines), "full" in lines[0])

fill(0)
for folder in ("env", "new"):
    try:
        Environment.open(disk / folder, must_write=True)
    except EnvironmentUnavailable as error:
        print("unavailable:", error)
lines.clear()
with Environment.open(disk / "env", warn=lines.append) as environment:
    print(environment.artifact("before") == bytes(1000), environment.store("a", bytes(5000)))
print(len(lines))
(disk / "filler").unlink()
with Environment.open(disk / "env", must_write=True) as environment:
    print(environment.artifact("big0") is not None, environment.store("a", bytes(5000)))
"""


def test_a_disk_that_is_really_full_refuses_says_so_and_keeps_what_it_had(tmp_path: Path) -> None:
    """On a small file system of its own, where a process may mount one."""
    mount = f"mount -t tmpfs -o size=4m small {tmp_path}"
    own = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if subprocess.run([*own, mount], capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    done = subprocess.run(
        [*own, f'{mount} && exec "$@"', "sh", sys.executable, "-c", FULL, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, *unavailable, reading, told, afterwards = done.stdout.splitlines()
    assert first == "1 True"
    assert len(unavailable) == 2
    assert all("it cannot be written: its disk is full" in line for line in unavailable)
    assert all("free some space" in line for line in unavailable)
    assert (reading, told, afterwards) == ("True False", "1", "True True")


def test_a_claim_that_cannot_be_given_up_is_free_for_its_own_process(tmp_path: Path) -> None:
    """Where the disk is full nothing can be deleted, and nobody may wait for it."""
    with Environment.open(tmp_path) as environment, Environment.open(tmp_path) as other:
        claim = environment.claim("slot")
        assert claim is not None
        assert environment.claim("slot") is None
        assert other.claim("slot") is None
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        try:
            claim.release()
            assert other.claim("slot") is not None
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
