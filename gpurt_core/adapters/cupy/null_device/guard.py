"""Keeping the host's memory: what is written to the null device becomes real memory of the host."""

from __future__ import annotations

from pathlib import Path

from gpurt_core.adapters.cupy.null_device.profiles import MIB

REAL_BYTES = 256 * MIB
"""At most this much of one copy or fill within devices is done; the rest of a longer one is left
as it was. More than a test looks at, and done in a fraction of a second. A copy from or to the host
has no such bound: the host has that much memory, at the other end."""

_STEP = 64 * MIB
"""After this many written bytes the host is asked what it has left: that takes 50 microseconds."""

_KEPT_SHARE = 8
"""One part in this many of the host's memory is left to others, however much is asked for."""


class HostGuard:
    """Tells whether a write may become real memory. One that may not is left out."""

    def __init__(self) -> None:
        self._written = 0

    def allows(self, size: int) -> bool:
        """Whether `size` more bytes may be written. Approximate between threads."""
        self._written += size
        if self._written < _STEP:
            return True
        available, total = host_memory()
        if size > available - total // _KEPT_SHARE:
            return False
        self._written = 0
        return True


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
