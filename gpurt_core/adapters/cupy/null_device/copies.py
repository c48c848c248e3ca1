"""Copies and fills, which are real on the null device.

Where a pointer belongs is known, so every end of a copy that CUDA would look at is checked: an
address that no device knows is refused as CUDA refuses it, never followed. What lies in memory
that was only reserved is never touched to copy zeros, and `guard` bounds the rest.
"""

from __future__ import annotations

import enum

from gpurt_core.adapters.cupy.null_device import pages
from gpurt_core.adapters.cupy.null_device.guard import REAL_BYTES, HostGuard
from gpurt_core.adapters.cupy.null_device.memory import Allocation, MemoryTable, MemoryType
from gpurt_core.adapters.cupy.null_device.profiles import MIB
from gpurt_core.adapters.cupy.null_device.status import RuntimeStatus, fail
from gpurt_core.execution import ReadMonitor


class CopyKind(enum.IntEnum):
    """`cudaMemcpyKind`."""

    HOST_TO_HOST = 0
    HOST_TO_DEVICE = 1
    DEVICE_TO_HOST = 2
    DEVICE_TO_DEVICE = 3
    DEFAULT = 4


_FROM_DEVICE = (CopyKind.DEVICE_TO_HOST, CopyKind.DEVICE_TO_DEVICE)
_TO_DEVICE = (CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_DEVICE)
_SHOWN_BYTES = MIB
"""Who explains a failure shows some values at the ends: of a larger array the host keeps what it
had, which is not worth gigabytes."""
_ON_DEVICE = (MemoryType.DEVICE, MemoryType.MANAGED)


class Copies:
    """All that moves bytes."""

    def __init__(self, table: MemoryTable, reads: ReadMonitor, guard: HostGuard) -> None:
        self._table = table
        self._reads = reads
        self._guard = guard

    def linear(self, target: int, source: int, size: int, kind: int) -> None:
        """`cudaMemcpy`."""
        if size:
            self.rows(target, size, source, size, size, 1, kind)

    def rows(
        self,
        target: int,
        target_pitch: int,
        source: int,
        source_pitch: int,
        width: int,
        height: int,
        kind: int,
    ) -> None:
        """`cudaMemcpy2D`: `height` rows of `width` bytes, whose starts are a pitch apart."""
        if not 0 <= kind <= CopyKind.DEFAULT:
            fail(RuntimeStatus.INVALID_MEMCPY_DIRECTION)
        if width == 0 or height == 0:
            return
        if height > 1 and (width > target_pitch or width > source_pitch):
            fail(RuntimeStatus.INVALID_PITCH_VALUE)
        to = self._end(target, target_pitch * (height - 1) + width, kind in _TO_DEVICE)
        origin = self._end(source, source_pitch * (height - 1) + width, kind in _FROM_DEVICE)
        if _is_read(to, origin, kind):
            self._reads.record(width * height)
        if height == 1 or target_pitch == source_pitch == width:
            self._move(target, to, source, origin, width * height)
            return
        for row in range(height):
            self._move(target + row * target_pitch, to, source + row * source_pitch, origin, width)

    def fill(self, target: int, value: int, size: int) -> None:
        """`cudaMemset`."""
        if size == 0:
            return
        to = self._end(target, size, True)
        assert to is not None
        if value & 0xFF == 0:
            self._zero(target, to, size)
        else:
            size = min(size, REAL_BYTES)
            if self._guard.allows(size):
                to.wrote(target, size)
                pages.fill(target, value, size)

    def write(self, target: int, content: bytes) -> None:
        """Puts `content` into device memory; nobody's copy."""
        to = self._end(target, len(content), True)
        assert to is not None
        to.wrote(target, len(content))
        pages.write(target, content)

    def _end(self, address: int, size: int, on_device: bool) -> Allocation | None:
        """What an end of a copy belongs to: None is memory of the host that CUDA does not know."""
        found = self._table.find(address)
        if found is None:
            if on_device or address == 0:
                fail(RuntimeStatus.INVALID_VALUE)
            return None
        if address + size > found.end and not found.borrowed:
            fail(RuntimeStatus.INVALID_VALUE)
        return found

    def _move(
        self, target: int, to: Allocation | None, source: int, origin: Allocation | None, size: int
    ) -> None:
        if to is None or to.kind is not MemoryType.DEVICE:
            if not self._reads.overlooked or size <= _SHOWN_BYTES:
                self._give_out(target, source, origin, size)
            return
        first, last = origin.written_within(source, size) if origin else (source, source + size)
        if last <= first:
            self._zero(target, to, size)
            return
        shift = target - source
        if to is not origin:  # within one allocation the ends may overlap: no zeros in between
            self._zero(target, to, first - source)
            self._zero(last + shift, to, source + size - last)
        else:
            first, last = source, source + size
        real = last - first if origin is None else min(last - first, REAL_BYTES)
        if self._guard.allows(real):
            to.wrote(first + shift, real)
            pages.copy(first + shift, first, real)

    def _give_out(self, target: int, source: int, origin: Allocation | None, size: int) -> None:
        """To the host. Of a large array only what was ever written is copied: the rest is zero, and
        would fill the host with zeros."""
        first, last = source, source + size
        if origin is not None and size > _SHOWN_BYTES:
            first, last = origin.written_within(source, size)
            last = max(first, last)
            pages.zero_where_needed(target, first - source)
            pages.zero_where_needed(target + last - source, source + size - last)
        if self._guard.allows(last - first):
            pages.copy(target + first - source, first, last - first)

    @staticmethod
    def _zero(target: int, to: Allocation, size: int) -> None:
        """Zeros where something else may be."""
        first, last = to.written_within(target, size)
        if last <= first:
            return
        if to.borrowed:
            pages.fill_in_place(first, 0, last - first)
        else:
            pages.fill(first, 0, last - first)


def _is_read(to: Allocation | None, origin: Allocation | None, kind: int) -> bool:
    """Whether the host gets to see what is on a device."""
    if kind == CopyKind.DEFAULT:
        leaves = origin is not None and origin.kind in _ON_DEVICE
        return leaves and (to is None or to.kind is MemoryType.HOST)
    return kind == CopyKind.DEVICE_TO_HOST
