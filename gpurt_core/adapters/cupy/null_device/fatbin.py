"""Reading a fat binary: images for several architectures, one after another.

The format is not documented by NVIDIA; what is used here was seen in the output of `fatbinary` of
CUDA 12 and 13: a header that tells its own size, then images, each behind a header of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from gpurt_core.adapters.cupy.null_device.images import DamagedImage, Image

_FILE_HEADER = struct.Struct("<IHHQ")  # magic, version, size of this header, size of the rest
_ENTRY_HEADER = struct.Struct("<HHIQIIHHI8xQ")
"""kind, version, size of this header, size, compressed size, options, minor, major,
architecture, name, flags"""

_PTX = 1
_COMPRESSED = 0xF000
"""Flags of LZ4 and of Zstandard; the images behind them are not read."""


def read_fatbin(content: bytes, read: Callable[[bytes], tuple[Image, ...]]) -> tuple[Image, ...]:
    """The images of a fat binary, each read by `read`; raises `DamagedImage`."""
    if len(content) < _FILE_HEADER.size:
        raise DamagedImage("a fat binary that is cut short")
    _, _, position, size = _FILE_HEADER.unpack_from(content)
    end = position + size
    if end > len(content):
        raise DamagedImage("a fat binary that is cut short")
    images: list[Image] = []
    while position + _ENTRY_HEADER.size <= end:
        kind, _, header, size, *_, architecture, flags = _ENTRY_HEADER.unpack_from(
            content, position
        )
        if header < _ENTRY_HEADER.size or position + header + size > end:
            raise DamagedImage("a fat binary with a damaged entry")
        body = content[position + header : position + header + size]
        if flags & _COMPRESSED:
            images.append(Image(architecture, kind == _PTX, opaque=True))
        else:
            images.extend(read(body))
        position += header + size
    return tuple(images)
