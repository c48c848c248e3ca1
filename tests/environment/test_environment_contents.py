"""What an environment keeps, and that it is what was put in."""

from __future__ import annotations

import sqlite3
import stat
import threading
from pathlib import Path

import pytest

import gpurt_core.environment as door
from gpurt_core.environment import CompilationRecord, Environment, QueuedEntry, StoredPick


def test_the_door_exports_what_it_says() -> None:
    assert door.__all__ == sorted(door.__all__)
    assert all(hasattr(door, name) for name in door.__all__)


def test_an_artifact_is_found_by_id_and_by_source_in_the_next_run(tmp_path: Path) -> None:
    with Environment.open(tmp_path / "env") as environment:
        assert environment.artifact("a") is None
        assert environment.store("a", b"cubin", source="s", label="saxpy")
    with Environment.open(tmp_path / "env") as environment:
        assert environment.artifact("a") == b"cubin"
        assert environment.artifact_for_source("s") == b"cubin"
        assert environment.known("saxpy") == ["a"]
        assert environment.health().artifacts == 1
        assert environment.health().bytes == 5


def test_only_the_owner_can_open_it_and_git_ignores_it(tmp_path: Path) -> None:
    Environment.open(tmp_path / "env").close()
    assert stat.S_IMODE((tmp_path / "env").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "env" / "environment.db").stat().st_mode) == 0o600
    assert (tmp_path / "env" / ".gitignore").read_text() == "*\n"


def test_a_folder_of_ours_that_others_could_write_to_is_closed_to_them(tmp_path: Path) -> None:
    folder = tmp_path / "env"
    folder.mkdir()
    folder.chmod(0o777)
    Environment.open(folder).close()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def test_it_is_one_file_once_it_is_closed(tmp_path: Path) -> None:
    with Environment.open(tmp_path / "env") as environment:
        environment.store("a", b"cubin")
    assert {path.name for path in (tmp_path / "env").iterdir()} == {".gitignore", "environment.db"}


def test_a_copy_of_the_file_serves_elsewhere(tmp_path: Path) -> None:
    with Environment.open(tmp_path / "here") as environment:
        environment.store("a", b"cubin")
    (tmp_path / "there").mkdir()
    content = (tmp_path / "here" / "environment.db").read_bytes()
    (tmp_path / "there" / "environment.db").write_bytes(content)
    with Environment.open(tmp_path / "there") as environment:
        assert environment.artifact("a") == b"cubin"


@pytest.mark.parametrize("damage", [b"", b"cub", b"CUBIN", b"cubin and more"])
def test_a_damaged_artifact_is_dropped_and_can_be_stored_again(
    tmp_path: Path, damage: bytes
) -> None:
    with Environment.open(tmp_path) as environment:
        environment.store("a", b"cubin")
        environment.store("b", b"other")
    connection = sqlite3.connect(tmp_path / "environment.db")
    connection.execute("UPDATE artifacts SET content = ? WHERE id = 'a'", (damage,))
    connection.commit()
    connection.close()
    with Environment.open(tmp_path) as environment:
        assert environment.artifact("a") is None
        assert environment.artifact("b") == b"other"
        assert environment.health().dropped == 1
        assert environment.store("a", b"cubin")
        assert environment.artifact("a") == b"cubin"


def test_the_queue_keeps_its_order_over_runs_and_takes_each_kernel_once(tmp_path: Path) -> None:
    entries = [QueuedEntry(id, f"payload {id}", f"kernel {id}") for id in "cab"]
    with Environment.open(tmp_path) as environment:
        environment.queue(entries)
        environment.queue(entries[:1])
    with Environment.open(tmp_path) as environment:
        assert environment.queued() == entries
        environment.dequeue(["a"])
        assert [entry.id for entry in environment.queued()] == ["c", "b"]
        assert environment.health().queued == 2


def record(id: str, seconds: float, at: float, label: str = "saxpy") -> CompilationRecord:
    return CompilationRecord(id, label, seconds, "compiled", "90", "nvrtc", None, at)


def test_the_next_run_knows_how_long_kernels_took_by_id_or_by_name(tmp_path: Path) -> None:
    with Environment.open(tmp_path) as environment:
        environment.record_compilations([record("a", 0.5, 1.0), record("a", 0.7, 2.0)])
        environment.record_compilation(record("b", 2.0, 3.0, label="gemm"))
    with Environment.open(tmp_path) as environment:
        expected = environment.expected_seconds(["a", "new", "unknown"], ["saxpy", "gemm", "x"])
        assert expected == {"a": 0.7, "new": 2.0}
        assert environment.records("a") == [record("a", 0.5, 1.0), record("a", 0.7, 2.0)]


def test_few_records_of_one_kernel_are_kept(tmp_path: Path) -> None:
    with Environment.open(tmp_path) as environment:
        for number in range(10):
            environment.record_compilation(record("a", 0.1, float(number)))
        assert [one.at for one in environment.records("a")] == [7.0, 8.0, 9.0]


PICK = StoredPick("gpu", "scale", '["scale",64]', "c1", "vector4", {"vector4": [1e-6, 2e-6]}, 1.0)


def test_a_pick_is_found_under_all_of_its_names_and_no_other(tmp_path: Path) -> None:
    with Environment.open(tmp_path) as environment:
        assert environment.store_pick(PICK)
    with Environment.open(tmp_path) as environment:
        assert environment.pick("gpu", "scale", '["scale",64]', "c1") == PICK
        assert environment.pick("gpu", "scale", '["scale",64]', "c2") is None
        assert environment.pick("other", "scale", '["scale",64]', "c1") is None
        assert environment.picks() == [PICK]


def test_a_pick_that_was_changed_by_hand_is_dropped(tmp_path: Path) -> None:
    with Environment.open(tmp_path) as environment:
        environment.store_pick(PICK)
    connection = sqlite3.connect(tmp_path / "environment.db")
    connection.execute("UPDATE picks SET candidate = 'scalar'")
    connection.commit()
    connection.close()
    with Environment.open(tmp_path) as environment:
        assert environment.pick("gpu", "scale", '["scale",64]', "c1") is None
        assert environment.health().dropped == 1
        assert environment.health().picks == 0


def test_another_environment_is_taken_over_without_what_is_there(tmp_path: Path) -> None:
    with Environment.open(tmp_path / "a") as one, Environment.open(tmp_path / "b") as other:
        one.store("x", b"mine")
        other.store("x", b"theirs")
        other.store("y", b"new", source="s", label="saxpy")
        other.record_compilations([record("x", 1.0, 1.0), record("y", 2.0, 1.0)])
        one.take_over(other)
        assert (one.artifact("x"), one.artifact("y")) == (b"mine", b"new")
        assert one.artifact_for_source("s") == b"new"
        assert one.expected_seconds(["x", "y"]) == {"y": 2.0}


def test_threads_store_and_find_at_once(tmp_path: Path) -> None:
    with Environment.open(tmp_path) as environment:

        def work(name: str) -> None:
            for number in range(50):
                environment.store(f"{name}{number}", f"{name}{number}".encode())
                assert environment.artifact(f"{name}{number}") == f"{name}{number}".encode()

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert environment.health().artifacts == 200
        assert environment.health().stored == 200
