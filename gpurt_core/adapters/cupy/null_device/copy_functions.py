"""Copies and fills of linear memory. Those of CUDA arrays are in `arrays`.

A null device does everything at once, so that the asynchronous functions are the synchronous ones
with a stream, which must be one that there is.
"""

from __future__ import annotations

from gpurt_core.adapters.cupy.null_device.copies import Copies, CopyKind
from gpurt_core.adapters.cupy.null_device.devices import Devices
from gpurt_core.adapters.cupy.null_device.streams import Streams


class CopyFunctions:
    """`memcpy` and `memset` in all their forms."""

    def __init__(self, devices: Devices, copies: Copies, streams: Streams) -> None:
        self._devices = devices
        self._copies = copies
        self._streams = streams

    def memcpy(self, dst: int, src: int, size: int, kind: int) -> None:
        self._streams.check(0)
        self._copies.linear(dst, src, size, kind)

    def memcpyAsync(self, dst: int, src: int, size: int, kind: int, stream: int) -> None:
        self._streams.check(stream)
        self._copies.linear(dst, src, size, kind)

    def memcpyPeer(self, dst: int, dstDevice: int, src: int, srcDevice: int, size: int) -> None:
        self._devices.check(dstDevice)
        self._devices.check(srcDevice)
        self._copies.linear(dst, src, size, CopyKind.DEVICE_TO_DEVICE)

    def memcpyPeerAsync(
        self, dst: int, dstDevice: int, src: int, srcDevice: int, size: int, stream: int
    ) -> None:
        self._streams.check(stream)
        self.memcpyPeer(dst, dstDevice, src, srcDevice, size)

    def memcpy2D(
        self, dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int
    ) -> None:
        self._streams.check(0)
        self._copies.rows(dst, dpitch, src, spitch, width, height, kind)

    def memcpy2DAsync(
        self,
        dst: int,
        dpitch: int,
        src: int,
        spitch: int,
        width: int,
        height: int,
        kind: int,
        stream: int,
    ) -> None:
        self._streams.check(stream)
        self._copies.rows(dst, dpitch, src, spitch, width, height, kind)

    def memset(self, ptr: int, value: int, size: int) -> None:
        self._streams.check(0)
        self._copies.fill(ptr, value, size)

    def memsetAsync(self, ptr: int, value: int, size: int, stream: int) -> None:
        self._streams.check(stream)
        self._copies.fill(ptr, value, size)
