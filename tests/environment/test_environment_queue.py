"""The durable queue, as all who share it see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpurt_core.environment import Environment, QueuedEntry, QueueProgress

CLAIM = "kernel:"


@pytest.fixture
def shared(tmp_path: Path) -> Environment:
    """An environment with ten kernels in its queue."""
    environment = Environment.open(tmp_path)
    environment.queue([QueuedEntry(str(n), f"payload {n}", f"label {n}") for n in range(10)])
    return environment


def test_what_is_made_claimed_or_known_does_not_wait(shared: Environment, tmp_path: Path) -> None:
    with shared, Environment.open(tmp_path) as other:
        shared.store("0", b"x")
        claim = other.claim(f"{CLAIM}1")
        assert claim is not None
        waiting = shared.take_waiting(CLAIM, 3, {"2", "4"})
        assert [entry.id for entry in waiting] == ["3", "5", "6"]
        assert waiting[0] == QueuedEntry("3", "payload 3", "label 3")
        claim.release()
        assert [entry.id for entry in shared.take_waiting(CLAIM, 3)] == ["1", "2", "3"]
        assert len(shared.take_waiting(CLAIM, 100)) == 9


def test_how_far_it_is(shared: Environment, tmp_path: Path) -> None:
    with shared, Environment.open(tmp_path) as other:
        assert shared.queue_progress(CLAIM) == QueueProgress(left=10)
        with other.claim(f"{CLAIM}7") or pytest.fail("it is free"):
            shared.store("0", b"x")
            shared.store("another", b"x")
            progress = shared.queue_progress(CLAIM)
        assert progress == QueueProgress(left=9, made=2, at_work=("label 7",))
