"""What the machine has left."""

from __future__ import annotations

import pytest

from gpurt_core.execution import host, host_memory

MIB = 1024**2


def test_a_host_has_no_more_left_than_it_has() -> None:
    available, total = host_memory()
    assert 0 < available <= total


def test_a_control_group_that_allows_less_than_the_machine_has_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host, "_cgroup_limits", lambda: [(2**60, 0), (64 * MIB, 40 * MIB)])
    assert host_memory() == (24 * MIB, 64 * MIB)
