"""Allocating and freeing, and what is known about a pointer."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from gpurt_core.adapters.cupy.null_device.devices import Devices
from gpurt_core.adapters.cupy.null_device.memory import Allocation, MemoryTable, MemoryType
from gpurt_core.adapters.cupy.null_device.pools import PoolFunctions
from gpurt_core.adapters.cupy.null_device.status import RuntimeStatus, fail

_INVALID_DEVICE_ID = -2  # cudaInvalidDeviceId: the device of memory that CUDA does not know
_CPU_DEVICE_ID = -1  # cudaCpuDeviceId

_DEVICE_KINDS = (MemoryType.DEVICE, MemoryType.MANAGED)


class AllocationFunctions:
    """Device, managed and host memory. Memory pools are in `pools`."""

    def __init__(
        self, devices: Devices, table: MemoryTable, pools: PoolFunctions, runtime: ModuleType
    ) -> None:
        self._devices = devices
        self._table = table
        self._pools = pools
        self._runtime = runtime

    def malloc(self, size: int) -> int:
        return self._allocate(size, MemoryType.DEVICE)

    def mallocManaged(self, size: int, flags: int = 1) -> int:
        if size == 0 or flags not in (1, 2):  # cudaMemAttachGlobal, cudaMemAttachHost
            fail(RuntimeStatus.INVALID_VALUE)
        return self._allocate(size, MemoryType.MANAGED)

    def hostAlloc(self, size: int, flags: int) -> int:
        return self._allocate(size, MemoryType.HOST)

    def free(self, ptr: int) -> None:
        freed = self._table.free(ptr, _DEVICE_KINDS)
        if freed is not None and freed.pool:
            self._pools.account(freed.pool, -freed.size)

    def freeHost(self, ptr: int) -> None:
        self._table.free(ptr, (MemoryType.HOST,))

    def hostRegister(self, ptr: int, size: int, flags: int) -> None:
        if ptr == 0 or size == 0:
            fail(RuntimeStatus.INVALID_VALUE)
        self._table.register(ptr, size, self._devices.current)

    def hostUnregister(self, ptr: int) -> None:
        self._table.unregister(ptr)

    def memPrefetchAsync(self, devPtr: int, count: int, dstDevice: int, stream: int) -> None:
        self._managed(devPtr, count)
        if dstDevice != _CPU_DEVICE_ID:
            self._devices.check(dstDevice)

    def memAdvise(self, devPtr: int, count: int, advice: int, device: int) -> None:
        self._managed(devPtr, count)
        if not 1 <= advice <= 6:  # cudaMemAdviseSetReadMostly to …UnsetAccessedBy
            fail(RuntimeStatus.INVALID_VALUE)
        if device != _CPU_DEVICE_ID:
            self._devices.check(device)

    def pointerGetAttributes(self, ptr: int) -> Any:
        make = self._runtime.PointerAttributes
        found = self._table.find(ptr)
        if found is None:
            return make(_INVALID_DEVICE_ID, 0, ptr, int(MemoryType.UNREGISTERED))
        host = 0 if found.kind is MemoryType.DEVICE else ptr
        return make(found.device, ptr, host, int(found.kind))

    def pointerGetMemoryType(self, ptr: int) -> int:
        found = self._table.find(ptr)
        return int(MemoryType.UNREGISTERED if found is None else found.kind)

    def _allocate(self, size: int, kind: MemoryType) -> int:
        if size == 0:
            return 0
        return self._table.allocate(size, kind, self._devices.current).base

    def _managed(self, address: int, count: int) -> Allocation:
        found = self._table.find(address)
        if found is None or found.kind is not MemoryType.MANAGED or count > found.end - address:
            fail(RuntimeStatus.INVALID_VALUE)
        return found
