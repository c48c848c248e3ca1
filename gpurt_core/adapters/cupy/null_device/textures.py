"""Texture and surface objects: their descriptions, checked and kept."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from gpurt_core.adapters.cupy.null_device.arrays import ChannelFormat, CudaArrays
from gpurt_core.adapters.cupy.null_device.handles import Handles
from gpurt_core.adapters.cupy.null_device.memory import MemoryTable
from gpurt_core.adapters.cupy.null_device.status import RuntimeStatus, fail, runtime_error

_SIZE = ctypes.c_size_t

_ARRAY, _LINEAR, _PITCHED = 0, 2, 3  # cudaResourceType; 1 is mipmapped, which CuPy has not


class _Linear(ctypes.Structure):
    _fields_ = (("pointer", _SIZE), ("format", ChannelFormat), ("size", _SIZE))


class _Pitched(ctypes.Structure):
    _fields_ = (
        ("pointer", _SIZE),
        ("format", ChannelFormat),
        ("width", _SIZE),
        ("height", _SIZE),
        ("pitch", _SIZE),
    )


class _Memory(ctypes.Union):
    _fields_ = (
        ("array", _SIZE),
        ("linear", _Linear),
        ("pitched", _Pitched),
    )


class _Resource(ctypes.Structure):
    """`cudaResourceDesc` as in CUDA 12. CUDA 13 has more behind it, for kinds that CuPy has not."""

    _fields_ = (("type", ctypes.c_int), ("memory", _Memory))


class _Texture(ctypes.Structure):
    """`cudaTextureDesc`."""

    _fields_ = (
        ("address_mode", ctypes.c_int * 3),
        ("filter_mode", ctypes.c_int),
        ("read_mode", ctypes.c_int),
        ("srgb", ctypes.c_int),
        ("border_color", ctypes.c_float * 4),
        ("normalized", ctypes.c_int),
        ("max_anisotropy", ctypes.c_uint),
        ("mipmap_filter_mode", ctypes.c_int),
        ("mipmap_level_bias", ctypes.c_float),
        ("min_mipmap_level_clamp", ctypes.c_float),
        ("max_mipmap_level_clamp", ctypes.c_float),
        ("disable_trilinear_optimization", ctypes.c_int),
        ("seamless_cubemap", ctypes.c_int),
    )


_RESOURCE_SIZE = ctypes.sizeof(_Resource)

_LINEAR_FILTER, _NORMALIZED_FLOAT = 1, 1
_FLOAT = 2  # cudaChannelFormatKindFloat


@dataclass(frozen=True)
class _Object:
    resource: bytes
    texture: bytes = b""


class TextureFunctions:
    """Textures and surfaces."""

    def __init__(self, arrays: CudaArrays, table: MemoryTable) -> None:
        self._arrays = arrays
        self._table = table
        self._textures: Handles[_Object] = Handles(lambda: fail(RuntimeStatus.INVALID_VALUE))
        self._surfaces: Handles[_Object] = Handles(lambda: fail(RuntimeStatus.INVALID_VALUE))

    def createTextureObject(self, ResDescPtr: int, TexDescPtr: int) -> int:
        channels = self._channels(ResDescPtr)
        texture = _Texture.from_address(TexDescPtr)
        if texture.read_mode == _NORMALIZED_FLOAT and (channels.f == _FLOAT or channels.x == 32):
            fail(RuntimeStatus.INVALID_NORM_SETTING)
        integers = channels.f != _FLOAT and texture.read_mode != _NORMALIZED_FLOAT
        if texture.filter_mode == _LINEAR_FILTER and integers:
            fail(RuntimeStatus.INVALID_FILTER_SETTING)
        resource = ctypes.string_at(ResDescPtr, _RESOURCE_SIZE)
        return self._textures.add(_Object(resource, bytes(texture)))

    def destroyTextureObject(self, texObject: int) -> None:
        self._textures.remove(texObject)

    def createSurfaceObject(self, ResDescPtr: int) -> int:
        if _Resource.from_address(ResDescPtr).type != _ARRAY:
            fail(RuntimeStatus.INVALID_CHANNEL_DESCRIPTOR)
        self._channels(ResDescPtr)
        return self._surfaces.add(_Object(ctypes.string_at(ResDescPtr, _RESOURCE_SIZE)))

    def destroySurfaceObject(self, surfObject: int) -> None:
        self._surfaces.remove(surfObject)

    def getTextureObjectResourceDesc(self, obj: int) -> bytes:
        return self._textures.get(obj).resource

    def getTextureObjectTextureDesc(self, obj: int) -> bytes:
        return self._textures.get(obj).texture

    def _channels(self, resource: int) -> Any:
        """The format of what a resource describes, which must be there."""
        description = _Resource.from_address(resource)
        memory = description.memory
        if description.type == _ARRAY:
            return ChannelFormat.from_buffer_copy(self._arrays.get(memory.array).format)
        if description.type == _LINEAR:
            self._require_memory(memory.linear.pointer, memory.linear.size)
            return memory.linear.format
        if description.type == _PITCHED:
            pitched = memory.pitched
            self._require_memory(pitched.pointer, pitched.pitch * pitched.height)
            return pitched.format
        raise runtime_error(RuntimeStatus.INVALID_VALUE)

    def _require_memory(self, address: int, size: int) -> None:
        found = self._table.find(address)
        if found is None or address + size > found.end:
            fail(RuntimeStatus.INVALID_VALUE)
