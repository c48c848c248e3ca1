"""The memory of the null devices: who allocated what, and what is at an address.

Device memory is host memory that is only reserved. Each device has the size that its profile
declares, and no more: what does not fit is refused as CUDA refuses it.

Garbage collection may free arrays in the middle of any function here, on the same thread. So the
table is a dictionary that changes in single steps, and the sorted list beside it is made anew by
whoever needs it.
"""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from gpurt_core.adapters.cupy.null_device import pages
from gpurt_core.adapters.cupy.null_device.status import RuntimeStatus, fail
from gpurt_core.execution.forking import lock_held_over_forks

GRANULE = 512
"""Device allocations count in multiples of this, as CUDA aligns them (bytes)."""


class MemoryType(enum.IntEnum):
    """`cudaMemoryType`."""

    UNREGISTERED = 0
    HOST = 1
    DEVICE = 2
    MANAGED = 3


@dataclass(slots=True, eq=False)
class Allocation:
    """One piece of memory that CUDA would know about."""

    base: int
    size: int
    """As asked for (bytes)."""
    kind: MemoryType
    device: int
    pool: int = 0
    """The handle of the memory pool it came from; 0 is none."""
    borrowed: bool = False
    """Registered host memory: it belongs to somebody else."""
    low: int = 0
    high: int = 0
    """Everything outside `low` to `high` (addresses) has never been written: it reads as zero."""

    @property
    def end(self) -> int:
        return self.base + self.size

    def wrote(self, address: int, size: int) -> None:
        """Widens what counts as written."""
        if self.high == 0:
            self.low, self.high = address, address + size
        else:
            self.low, self.high = min(self.low, address), max(self.high, address + size)

    def written_within(self, address: int, size: int) -> tuple[int, int]:
        """The part (start, end) of a range that may be other than zero; empty if end <= start."""
        if self.kind is not MemoryType.DEVICE:  # the host writes to it without telling
            return address, address + size
        return max(self.low, address), min(self.high, address + size)


@dataclass
class MemoryTable:
    """All allocations of all devices of this process."""

    capacities: Sequence[int]
    """The memory of each device (bytes)."""
    used: list[int] = field(init=False)
    """What is taken of it."""
    _live: dict[int, Allocation] = field(default_factory=dict, init=False)
    _sorted: list[int] = field(default_factory=list, init=False)
    _stale: bool = field(default=False, init=False)
    _lock: AbstractContextManager[bool] = field(default_factory=lock_held_over_forks, init=False)

    def __post_init__(self) -> None:
        self.used = [0] * len(self.capacities)

    def allocate(self, size: int, kind: MemoryType, device: int, pool: int = 0) -> Allocation:
        """New memory; raises what CUDA raises when there is not enough."""
        charged = self._charge(size, kind, device)
        base = pages.reserve(size)
        if base is None:
            self._charge(-charged, kind, device)
            fail(RuntimeStatus.MEMORY_ALLOCATION)
        return self._enter(Allocation(base, size, kind, device, pool))

    def register(self, address: int, size: int, device: int) -> None:
        """Host memory of somebody else becomes known to CUDA."""
        if self.find(address) is not None:
            fail(RuntimeStatus.HOST_MEMORY_ALREADY_REGISTERED)
        self._enter(Allocation(address, size, MemoryType.HOST, device, borrowed=True))

    def unregister(self, address: int) -> None:
        allocation = self._live.get(address)
        if allocation is None or not allocation.borrowed:
            fail(RuntimeStatus.HOST_MEMORY_NOT_REGISTERED)
        self._remove(address)

    def free(self, address: int, kinds: Sequence[MemoryType]) -> Allocation | None:
        """Frees memory of one of `kinds`; an address that is not one's start is an error."""
        if address == 0:
            return None
        allocation = self._live.get(address)
        if allocation is None or allocation.kind not in kinds or allocation.borrowed:
            fail(RuntimeStatus.INVALID_VALUE)
        if self._remove(address) is None:  # another thread was faster
            fail(RuntimeStatus.INVALID_VALUE)
        self._charge(-allocation.size, allocation.kind, allocation.device)
        pages.release(allocation.base, allocation.size)
        return allocation

    def find(self, address: int) -> Allocation | None:
        """The allocation that holds `address`, if CUDA knows one."""
        allocation = self._live.get(address)
        if allocation is not None:
            return allocation
        if self._stale:
            self._stale = False  # first: what changes meanwhile makes it stale again
            self._sorted = sorted(self._live.copy())
        bases = self._sorted
        position = bisect_right(bases, address)
        allocation = self._live.get(bases[position - 1]) if position else None
        return allocation if allocation is not None and address < allocation.end else None

    def free_and_total(self, device: int) -> tuple[int, int]:
        total = self.capacities[device]
        return total - self.used[device], total

    def _enter(self, allocation: Allocation) -> Allocation:
        self._live[allocation.base] = allocation
        self._stale = True
        return allocation

    def _remove(self, address: int) -> Allocation | None:
        allocation = self._live.pop(address, None)
        self._stale = True
        return allocation

    def _charge(self, size: int, kind: MemoryType, device: int) -> int:
        """Takes `size` bytes of a device, or gives them back; host and managed memory is free:
        the one is not on it, the other may be more than it has."""
        if kind is not MemoryType.DEVICE:
            return size
        charged = _rounded(size)
        with self._lock:
            if charged > self.capacities[device] - self.used[device]:
                fail(RuntimeStatus.MEMORY_ALLOCATION)
            self.used[device] += charged
        return size


def _rounded(size: int) -> int:
    """Up to whole granules, away from zero."""
    sign = -1 if size < 0 else 1
    return sign * (-(-abs(size) // GRANULE) * GRANULE)
