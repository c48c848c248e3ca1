"""Processes that fork while they have an environment open, as a test suite does with workers."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpurt_core.environment import Environment


def fork(work: Callable[[], bool]) -> int:
    """Runs `work` in a child; one that does not end in time is ended."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        signal.alarm(30)
        code = 0 if work() else 2
    finally:
        os._exit(code)


def code_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_forked_child_opens_the_file_for_itself(tmp_path: Path) -> None:
    with Environment.open(tmp_path) as environment:
        environment.store("before", b"x")
        claim = environment.claim("kernel")
        assert claim is not None

        def work() -> bool:
            fine = environment.artifact("before") == b"x"
            fine = fine and environment.store("child", b"y") and environment.claim("kernel") is None
            environment.close()
            return fine

        assert code_of(fork(work)) == 0
        assert environment.artifact("child") == b"y"
        assert environment.store("after", b"z")


def test_what_a_child_stores_after_its_parent_has_closed_outlives_the_childs_death(
    tmp_path: Path,
) -> None:
    environment = Environment.open(tmp_path)
    environment.store("before", b"x")
    opened, tell_opened = os.pipe()
    closed, tell_closed = os.pipe()

    def work() -> bool:
        environment.store("first", b"1")
        os.write(tell_opened, b".")
        os.read(closed, 1)
        environment.store("second", b"2")
        os.kill(os.getpid(), signal.SIGKILL)
        return False

    child = fork(work)
    os.read(opened, 1)
    environment.close()
    os.write(tell_closed, b".")
    assert code_of(child) == -signal.SIGKILL
    for end in (opened, tell_opened, closed, tell_closed):
        os.close(end)
    with Environment.open(tmp_path) as again:
        assert [again.artifact(id) for id in ("before", "first", "second")] == [b"x", b"1", b"2"]


def test_a_child_does_not_give_up_what_its_parent_has_claimed(tmp_path: Path) -> None:
    with Environment.open(tmp_path) as environment:
        claim = environment.claim("kernel")
        assert claim is not None

        def work() -> bool:
            own = environment.claim("another")
            claim.release()
            environment.close()
            return own is not None

        assert code_of(fork(work)) == 0
        assert environment.is_claimed("kernel")
        assert environment.claim("another") is not None


def test_a_child_of_one_that_was_closed_has_it_closed(tmp_path: Path) -> None:
    environment = Environment.open(tmp_path)
    environment.store("a", b"x")
    environment.close()
    assert code_of(fork(lambda: environment.artifact("a") is None)) == 0


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forks_at_any_moment_find_it_usable_and_lose_nothing(tmp_path: Path) -> None:
    with Environment.open(tmp_path) as environment:
        end = threading.Event()
        stored: list[str] = []

        def keep_storing(name: str) -> None:
            for number in range(100_000):
                if end.is_set():
                    return
                if environment.store(f"{name}{number}", b"x" * 500):
                    stored.append(f"{name}{number}")

        def keep_forking(name: str) -> None:
            for number in range(6):
                id = f"{name}{number}"
                child = fork(lambda id=id: environment.store(id, b"y"))  # type: ignore[misc]
                assert code_of(child) == 0
                stored.append(id)

        storing = [threading.Thread(target=keep_storing, args=(name,)) for name in "ab"]
        forking = [threading.Thread(target=keep_forking, args=(name,)) for name in "cd"]
        for thread in (*storing, *forking):
            thread.start()
        for thread in forking:
            thread.join()
        end.set()
        for thread in storing:
            thread.join()
        assert len([id for id in stored if id[0] in "cd"]) == 12
        assert [id for id in stored if environment.artifact(id) is None] == []
        assert environment.trouble is None


def test_forking_costs_what_is_open_no_claim(tmp_path: Path) -> None:
    """The beat of a claim goes on in the parent, and the child has none of it."""
    with Environment.open(tmp_path) as environment:
        assert environment.claim("kernel") is not None
        names = [thread.name for thread in threading.enumerate()]
        assert "gpurt-claims" in names
        child = fork(lambda: threading.active_count() == 1 and environment.is_claimed("kernel"))
        assert code_of(child) == 0
        time.sleep(0.01)
        assert environment.is_claimed("kernel")


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_while_another_thread_opens_one_keeps_nobody_out(tmp_path: Path) -> None:
    end = threading.Event()

    def keep_opening() -> None:
        while not end.is_set():
            Environment.open(tmp_path).close()

    opening = threading.Thread(target=keep_opening)
    opening.start()
    ready, tell_ready = os.pipe()
    children = []
    for number in range(60):
        time.sleep(0.0005 * (number % 7))  # at another moment of an opening each time
        children.append(fork(lambda: os.read(ready, 1) == b"."))
    end.set()
    opening.join(timeout=20)
    assert not opening.is_alive()
    os.write(tell_ready, b"." * len(children))
    assert [code_of(child) for child in children] == [0] * len(children)
    os.close(ready)
    os.close(tell_ready)
