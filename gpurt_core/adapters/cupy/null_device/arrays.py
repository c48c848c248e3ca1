"""CUDA arrays: memory with a shape, which textures and surfaces look at."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from gpurt_core.adapters.cupy.null_device.copies import Copies
from gpurt_core.adapters.cupy.null_device.devices import Devices
from gpurt_core.adapters.cupy.null_device.memory import MemoryTable, MemoryType
from gpurt_core.adapters.cupy.null_device.status import RuntimeStatus, fail


class ChannelFormat(ctypes.Structure):
    """`cudaChannelFormatDesc`: the bits of each channel, and whether they are a float."""

    _fields_ = tuple((name, ctypes.c_int) for name in ("x", "y", "z", "w", "f"))

    @property
    def element_size(self) -> int:
        """Bytes of one element, all channels together."""
        bits: int = self.x + self.y + self.z + self.w
        return bits // 8


@dataclass(frozen=True)
class CudaArray:
    """One array; its rows lie close together."""

    format: bytes
    """A `ChannelFormat`."""
    element_size: int
    """Bytes."""
    extent: tuple[int, int, int]
    """Elements: width, height, depth; 0 is a dimension that it has not."""

    @property
    def row(self) -> int:
        """Bytes."""
        return self.extent[0] * self.element_size

    @property
    def size(self) -> int:
        """Bytes."""
        return self.row * max(1, self.extent[1]) * max(1, self.extent[2])


class CudaArrays:
    """The arrays of all devices. A handle is the address of the memory."""

    def __init__(self, devices: Devices, table: MemoryTable, copies: Copies) -> None:
        self._devices = devices
        self._table = table
        self.copies = copies
        self._arrays: dict[int, CudaArray] = {}

    def create(self, description: int, extent: tuple[int, int, int]) -> int:
        channels = ChannelFormat.from_address(description)
        if not _is_allowed(channels):
            fail(RuntimeStatus.INVALID_CHANNEL_DESCRIPTOR)
        width, height, depth = extent
        if width == 0 or (depth and not height):
            fail(RuntimeStatus.INVALID_VALUE)
        array = CudaArray(bytes(channels), channels.element_size, extent)
        allocation = self._table.allocate(array.size, MemoryType.DEVICE, self._devices.current)
        self._arrays[allocation.base] = array
        return allocation.base

    def get(self, handle: int) -> CudaArray:
        array = self._arrays.get(handle)
        if array is None:
            fail(RuntimeStatus.INVALID_RESOURCE_HANDLE)
        return array

    def destroy(self, handle: int) -> None:
        if handle == 0:
            return
        self.get(handle)
        del self._arrays[handle]
        self._table.free(handle, (MemoryType.DEVICE,))

    def to_array(
        self, handle: int, x: int, y: int, source: int, pitch: int, width: int, rows: int, kind: int
    ) -> None:
        """`cudaMemcpy2DToArray`: `x` and `width` are bytes."""
        row = self._require_window(handle, x, y, width, rows)
        self.copies.rows(handle + y * row + x, row, source, pitch, width, rows, kind)

    def from_array(
        self, target: int, pitch: int, handle: int, x: int, y: int, width: int, rows: int, kind: int
    ) -> None:
        """`cudaMemcpy2DFromArray`: `x` and `width` are bytes."""
        row = self._require_window(handle, x, y, width, rows)
        self.copies.rows(target, pitch, handle + y * row + x, row, width, rows, kind)

    def _require_window(self, handle: int, x: int, y: int, width: int, rows: int) -> int:
        array = self.get(handle)
        if x + width > array.row or y + rows > max(1, array.extent[1]):
            fail(RuntimeStatus.INVALID_VALUE)
        return array.row


def _is_allowed(channels: ChannelFormat) -> bool:
    """One, two or four channels of the same 8, 16 or 32 bits, and floats of at least 16."""
    bits = [channels.x, channels.y, channels.z, channels.w]
    used = [b for b in bits if b]
    return (
        len(used) in (1, 2, 4)
        and bits[: len(used)] == used
        and len(set(used)) == 1
        and used[0] in (8, 16, 32)
        and 0 <= channels.f <= 2
        and not (channels.f == 2 and used[0] == 8)
    )
