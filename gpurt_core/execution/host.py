"""What the machine that everything runs on has."""

from __future__ import annotations

from pathlib import Path


def host_memory() -> tuple[int, int]:
    """What the host has left, and has at all (bytes): the machine or, if less, the cgroup."""
    machine = {
        line.split()[0]: int(line.split()[1]) * 1024
        for line in Path("/proc/meminfo").read_text().splitlines()
        if line.startswith(("MemAvailable:", "MemTotal:"))
    }
    available, total = machine.get("MemAvailable:", 0), machine.get("MemTotal:", 0)
    for limit, current in _cgroup_limits():
        if limit < total:
            available, total = min(available, limit - current), limit
    return available, total


def _cgroup_limits() -> list[tuple[int, int]]:
    """(limit, use) of this process's control group and those around it, version 2."""
    try:
        path = Path("/proc/self/cgroup").read_text().rpartition("0::/")[2].splitlines()[0:1]
        group = Path("/sys/fs/cgroup", *path)
        found = []
        for folder in (group, *group.parents):
            try:
                limit = (folder / "memory.max").read_text().strip()
                if limit != "max":
                    found.append((int(limit), int((folder / "memory.current").read_text())))
            except (OSError, ValueError):
                continue
    except OSError:
        return []
    return found
