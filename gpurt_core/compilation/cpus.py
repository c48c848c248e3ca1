"""How many CPUs this process may use: what it is bound to, and what its control group allows."""

from __future__ import annotations

import os
from pathlib import Path

_CONTROL_GROUPS = Path("/sys/fs/cgroup")


def usable_cpus() -> int:
    """The CPUs that this process may use, one at least."""
    quota = _quota(_own_groups())
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(bound or 1, quota or bound or 1))


def _own_groups() -> list[Path]:
    """The folders of this process's control group and of those around it, of either version."""
    groups = [_CONTROL_GROUPS, _CONTROL_GROUPS / "cpu"]
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return groups
    for line in lines:
        _number, controllers, path = line.split(":", 2)
        root = _CONTROL_GROUPS if not controllers else _CONTROL_GROUPS / controllers
        folder = root / path.lstrip("/")
        groups += [folder, *(parent for parent in folder.parents if root in parent.parents)]
    return groups


def _quota(groups: list[Path]) -> int | None:
    """CPUs that the tightest of these groups allows, rounded up; `None`: as many as there are."""
    quotas = [quota for group in groups if (quota := _quota_of(group)) is not None]
    return min(quotas, default=None)


def _quota_of(group: Path) -> int | None:
    try:
        text = (group / "cpu.max").read_text()
    except OSError:
        text = ""
    if not text:
        try:
            quota = (group / "cpu.cfs_quota_us").read_text().strip()
            text = f"{quota} {(group / 'cpu.cfs_period_us').read_text().strip()}"
        except OSError:
            return None
    quota, _, period = text.strip().partition(" ")
    if quota in ("max", "-1") or not period:
        return None
    return max(1, -(-int(quota) // int(period)))
