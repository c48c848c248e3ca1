"""Environments that cannot be used, or no longer: told once, and nothing kept is lost."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpurt_core.environment import Environment, EnvironmentUnavailable

ROOT = Path(__file__).parents[2]


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
        assert environment.trouble is not None
    assert len(lines) == 1
    with Environment.open(tmp_path) as environment:
        assert environment.artifact("before") == bytes(100)
