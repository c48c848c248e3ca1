"""Keeping the host's memory."""

from __future__ import annotations

import pytest

from gpurt_core.adapters.cupy.null_device import guard
from gpurt_core.adapters.cupy.null_device.guard import HostGuard
from gpurt_core.adapters.cupy.null_device.profiles import GIB, MIB


def test_large_writes_are_left_out_when_the_host_has_no_room_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = [10 * GIB]
    monkeypatch.setattr(guard, "host_memory", lambda: (left[0], 16 * GIB))
    host = HostGuard()
    assert host.allows(8 * GIB)
    assert not host.allows(9 * GIB)  # two of sixteen are for others
    left[0] = 1 * GIB
    assert not host.allows(100 * MIB)


def test_small_writes_cost_no_question_until_they_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def count() -> tuple[int, int]:
        asked.append(1)
        return 10 * GIB, 16 * GIB

    monkeypatch.setattr(guard, "host_memory", count)
    host = HostGuard()
    for _ in range(6300):
        assert host.allows(10_000)
    assert asked == []
    for _ in range(1000):
        assert host.allows(100_000)
    assert asked == [1, 1]
