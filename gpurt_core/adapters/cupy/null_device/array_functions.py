"""CUDA arrays and copies of boxes, as CuPy calls them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpurt_core.adapters.cupy.null_device.arrays import CudaArray, CudaArrays
from gpurt_core.adapters.cupy.null_device.status import RuntimeStatus, fail
from gpurt_core.adapters.cupy.null_device.streams import Streams

_SIZE = ctypes.c_size_t


class _Three(ctypes.Structure):
    """`cudaPos` and `cudaExtent`: x, y, z or width, height, depth."""

    _fields_ = (("x", _SIZE), ("y", _SIZE), ("z", _SIZE))


class _Pitched(ctypes.Structure):
    """`cudaPitchedPtr`."""

    _fields_ = (("pointer", _SIZE), ("pitch", _SIZE), ("width", _SIZE), ("height", _SIZE))


class _Copy3D(ctypes.Structure):
    """`cudaMemcpy3DParms`."""

    _fields_ = (
        ("source_array", _SIZE),
        ("source_position", _Three),
        ("source", _Pitched),
        ("target_array", _SIZE),
        ("target_position", _Three),
        ("target", _Pitched),
        ("extent", _Three),
        ("kind", ctypes.c_int),
    )


@dataclass(frozen=True)
class _Box:
    """One end of a copy of boxes."""

    start: int
    row: int
    """Bytes from one row to the next."""
    slice: int
    """Bytes from one slice to the next."""

    def slices(self, depth: int) -> Iterator[int]:
        return (self.start + number * self.slice for number in range(depth))


class ArrayFunctions:
    """CUDA arrays, copies of rows to and from them, and copies of boxes."""

    def __init__(self, arrays: CudaArrays, streams: Streams) -> None:
        self._arrays = arrays
        self._streams = streams

    def malloc3DArray(
        self, descPtr: int, width: int, height: int, depth: int, flags: int = 0
    ) -> int:
        return self._arrays.create(descPtr, (width, height, depth))

    def mallocArray(self, descPtr: int, width: int, height: int, flags: int = 0) -> int:
        return self._arrays.create(descPtr, (width, height, 0))

    def freeArray(self, ptr: int) -> None:
        self._arrays.destroy(ptr)

    def getChannelDesc(self, array: int) -> bytes:
        return self._arrays.get(array).format

    def memcpy2DToArray(
        self,
        dst: int,
        wOffset: int,
        hOffset: int,
        src: int,
        spitch: int,
        width: int,
        height: int,
        kind: int,
    ) -> None:
        self._arrays.to_array(dst, wOffset, hOffset, src, spitch, width, height, kind)

    def memcpy2DToArrayAsync(
        self,
        dst: int,
        wOffset: int,
        hOffset: int,
        src: int,
        spitch: int,
        width: int,
        height: int,
        kind: int,
        stream: int,
    ) -> None:
        self._streams.check(stream)
        self._arrays.to_array(dst, wOffset, hOffset, src, spitch, width, height, kind)

    def memcpy2DFromArray(
        self,
        dst: int,
        dpitch: int,
        src: int,
        wOffset: int,
        hOffset: int,
        width: int,
        height: int,
        kind: int,
    ) -> None:
        self._arrays.from_array(dst, dpitch, src, wOffset, hOffset, width, height, kind)

    def memcpy2DFromArrayAsync(
        self,
        dst: int,
        dpitch: int,
        src: int,
        wOffset: int,
        hOffset: int,
        width: int,
        height: int,
        kind: int,
        stream: int,
    ) -> None:
        self._streams.check(stream)
        self._arrays.from_array(dst, dpitch, src, wOffset, hOffset, width, height, kind)

    def memcpy3D(self, Memcpy3DParmsPtr: int) -> None:
        self._copy(_Copy3D.from_address(Memcpy3DParmsPtr))

    def memcpy3DAsync(self, Memcpy3DParmsPtr: int, stream: int) -> None:
        self._streams.check(stream)
        self._copy(_Copy3D.from_address(Memcpy3DParmsPtr))

    def _copy(self, call: Any) -> None:
        """With an array at either end, widths count its elements; else they count bytes."""
        origin = self._arrays.get(call.source_array) if call.source_array else None
        target = self._arrays.get(call.target_array) if call.target_array else None
        some = origin or target
        element = some.element_size if some is not None else 1
        width, height, depth = call.extent.x * element, call.extent.y, call.extent.z
        if not width or not height or not depth:
            return
        for array, position in ((origin, call.source_position), (target, call.target_position)):
            if array is not None:
                _require_inside(array, position, call.extent)
        sources = _box(call.source_array, origin, call.source_position, call.source)
        targets = _box(call.target_array, target, call.target_position, call.target)
        copy = self._arrays.copies.rows
        packed = width == sources.row == targets.row
        if packed and sources.slice == targets.slice == width * height:
            copy(targets.start, width, sources.start, width, width, height * depth, call.kind)
            return
        for to, origin_start in zip(targets.slices(depth), sources.slices(depth), strict=True):
            copy(to, targets.row, origin_start, sources.row, width, height, call.kind)


def _box(handle: int, array: CudaArray | None, position: Any, pitched: Any) -> _Box:
    if array is not None:
        row, height = array.row, max(1, array.extent[1])
        x = position.x * array.element_size
        start = handle
    else:
        row, height = pitched.pitch, max(1, pitched.height)
        x, start = position.x, pitched.pointer
    return _Box(start + x + row * (position.y + height * position.z), row, row * height)


def _require_inside(array: CudaArray, position: Any, extent: Any) -> None:
    ends = (position.x + extent.x, position.y + extent.y, position.z + extent.z)
    if any(end > max(1, size) for end, size in zip(ends, array.extent, strict=True)):
        fail(RuntimeStatus.INVALID_VALUE)
