"""The size limit: what goes, and what no process of a run may take from another."""

from __future__ import annotations

from pathlib import Path

from gpurt_core.environment import Environment
from tests.environment.child_scripts import start


def fill(folder: Path, *names: str) -> None:
    for name in names:
        with Environment.open(folder) as environment:
            environment.store(name, bytes(1000))


def kept_in(folder: Path, *names: str) -> set[str]:
    with Environment.open(folder) as environment:
        return {name for name in names if environment.artifact(name) is not None}


def test_the_least_recently_used_are_dropped_at_the_limit_but_never_what_the_run_uses(
    tmp_path: Path,
) -> None:
    fill(tmp_path, "old", "used", "newer")
    with Environment.open(tmp_path, size_limit=2500) as environment:
        assert environment.artifact("old") is not None
        environment.store("new", bytes(1000))
        kept = {name for name in ("old", "used", "newer", "new") if environment.artifact(name)}
    assert kept == {"old", "new"}


def test_a_limit_that_the_run_alone_exceeds_drops_nothing_of_it(tmp_path: Path) -> None:
    with Environment.open(tmp_path, size_limit=10) as environment:
        environment.store("a", bytes(100))
        environment.store("b", bytes(100))
        assert environment.artifact("a") is not None
        assert environment.artifact("b") is not None


def test_an_environment_that_is_only_read_is_brought_to_its_limit_when_it_is_closed(
    tmp_path: Path,
) -> None:
    fill(tmp_path, "old", "newer", "newest")
    with Environment.open(tmp_path, size_limit=2000) as environment:
        assert environment.artifact("old") is not None
    assert kept_in(tmp_path, "old", "newer", "newest") == {"old", "newest"}


READ = """
import sys
from gpurt_core.environment import Environment
environment = Environment.open(sys.argv[1], size_limit=2500)
assert environment.artifact("old") is not None
print("read", flush=True)
sys.stdin.readline()
environment.close()
"""


def test_what_another_process_of_the_run_has_read_is_not_dropped(tmp_path: Path) -> None:
    fill(tmp_path, "old", "other")
    controller = Environment.open(tmp_path, size_limit=2500)
    reader = start(READ, tmp_path)
    assert reader.stdout is not None
    assert reader.stdout.readline() == "read\n"
    with Environment.open(tmp_path, size_limit=2500) as worker:
        worker.store("new", bytes(1000))
    reader.communicate("\n", timeout=60)
    assert reader.returncode == 0
    controller.close()
    assert kept_in(tmp_path, "old", "other", "new") == {"old", "new"}


def test_what_a_process_of_the_run_that_is_done_has_stored_is_not_dropped(tmp_path: Path) -> None:
    controller = Environment.open(tmp_path, size_limit=1500)
    fill(tmp_path, "first", "second")
    controller.close()
    assert kept_in(tmp_path, "first", "second") == {"first", "second"}


def test_a_killed_process_does_not_keep_others_from_dropping(tmp_path: Path) -> None:
    fill(tmp_path, "old", "other")
    reader = start(READ, tmp_path)
    assert reader.stdout is not None
    assert reader.stdout.readline() == "read\n"
    reader.kill()
    reader.communicate()
    with Environment.open(tmp_path, size_limit=1500) as environment:
        environment.store("new", bytes(1000))
    assert kept_in(tmp_path, "old", "other", "new") == {"new"}


def test_the_file_shrinks_with_what_is_dropped(tmp_path: Path) -> None:
    with Environment.open(tmp_path) as environment:
        for number in range(200):
            environment.store(f"a{number}", bytes(10_000))
    before = (tmp_path / "environment.db").stat().st_size
    with Environment.open(tmp_path, size_limit=100_000):
        pass
    assert (tmp_path / "environment.db").stat().st_size < before / 10
