"""The devices of a process: which one a thread uses, and what each says about itself.

The names of methods in the `…Functions` classes are those of `cupy_backends.cuda.api`: `capsules`
puts them in the place of CuPy's by name.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from gpurt_core.adapters.cupy.null_device import attributes
from gpurt_core.adapters.cupy.null_device.memory import MemoryTable
from gpurt_core.adapters.cupy.null_device.profiles import MIB, DeviceProfile
from gpurt_core.adapters.cupy.null_device.status import RuntimeStatus, fail, runtime_error
from gpurt_core.adapters.cupy.null_device.thread_number import ThreadNumber


class Devices:
    """The devices and, per thread, the current one."""

    def __init__(self, profiles: Sequence[DeviceProfile]) -> None:
        self.profiles = tuple(profiles)
        self.number = ThreadNumber()
        """The current device: CuPy asks for it several times in each allocation and launch."""
        self._has_used = threading.local()

    @property
    def current(self) -> int:
        """The device of the calling thread."""
        return self.number.get()

    @property
    def has_context(self) -> bool:
        """Whether the calling thread has used a device: the main thread always has."""
        main = threading.current_thread() is threading.main_thread()
        return main or hasattr(self._has_used, "a_device")

    @property
    def profile(self) -> DeviceProfile:
        """That of the current device."""
        return self.profiles[self.current]

    def use(self, device: int) -> None:
        self.number.set(self.check(device))
        self._has_used.a_device = True

    def check(self, device: int) -> int:
        """Raises what CUDA raises for a device that there is not."""
        if not 0 <= device < len(self.profiles):
            fail(RuntimeStatus.INVALID_DEVICE)
        return device


_DEFAULT_LIMITS = {
    0: 1024,  # cudaLimitStackSize
    1: 7 * MIB,  # cudaLimitPrintfFifoSize
    2: 8 * MIB,  # cudaLimitMallocHeapSize
    3: 2,  # cudaLimitDevRuntimeSyncDepth
    4: 2048,  # cudaLimitDevRuntimePendingLaunchCount
    5: 64,  # cudaLimitMaxL2FetchGranularity
    6: 0,  # cudaLimitPersistingL2CacheSize
}
"""What a fresh context has, as an A100 with driver 550 answers (bytes, or counts)."""


class DeviceFunctions:
    """Devices, their properties and limits, peers, and the profiler."""

    def __init__(self, devices: Devices, table: MemoryTable, runtime: ModuleType) -> None:
        self._devices = devices
        self._table = table
        self._attributes = [
            attributes.attributes(profile, number, runtime)
            for number, profile in enumerate(devices.profiles)
        ]
        self._runtime = runtime
        self._limits = [dict(_DEFAULT_LIMITS) for _ in devices.profiles]
        self._peers: set[tuple[int, int]] = set()

    def driverGetVersion(self) -> int:
        """As new as the runtime that CuPy was built with."""
        return int(self._runtime.runtimeGetVersion())

    def getDevice(self) -> int:
        return self._devices.current

    def setDevice(self, device: int) -> None:
        self._devices.use(device)

    def getDeviceCount(self) -> int:
        return len(self._devices.profiles)

    def _ensure_context(self) -> None:
        """There is nothing to initialise."""

    def deviceSynchronize(self) -> None:
        """Everything has happened already."""

    def deviceGetAttribute(self, attrib: int, device: int) -> int:
        value = self._attributes[self._devices.check(device)].get(attrib)
        if value is None:
            fail(RuntimeStatus.INVALID_VALUE)
        return value

    def getDeviceProperties(self, device: int) -> dict[str, Any]:
        return attributes.properties(self._devices.profiles[self._devices.check(device)], device)

    def memGetInfo(self) -> tuple[int, int]:
        return self._table.free_and_total(self._devices.current)

    def deviceGetByPCIBusId(self, pci_bus_id: str) -> int:
        wanted = pci_bus_id.lower()
        for device in range(len(self._devices.profiles)):
            full = attributes.pci_bus_id(device).lower()
            if wanted in (full, full.partition(":")[2], full.rpartition(".")[0]):
                return device
        raise runtime_error(RuntimeStatus.INVALID_DEVICE)

    def deviceGetPCIBusId(self, device: int) -> str:
        return attributes.pci_bus_id(self._devices.check(device))

    def deviceGetLimit(self, limit: int) -> int:
        limits = self._limits[self._devices.current]
        if limit not in limits:
            fail(RuntimeStatus.UNSUPPORTED_LIMIT)
        return limits[limit]

    def deviceSetLimit(self, limit: int, value: int) -> None:
        self.deviceGetLimit(limit)
        self._limits[self._devices.current][limit] = value

    def deviceCanAccessPeer(self, device: int, peerDevice: int) -> int:
        return int(self._devices.check(device) != self._devices.check(peerDevice))

    def deviceEnablePeerAccess(self, peerDevice: int) -> None:
        pair = self._pair(peerDevice)
        if pair in self._peers:
            fail(RuntimeStatus.PEER_ACCESS_ALREADY_ENABLED)
        self._peers.add(pair)

    def deviceDisablePeerAccess(self, peerDevice: int) -> None:
        pair = self._pair(peerDevice)
        if pair not in self._peers:
            fail(RuntimeStatus.PEER_ACCESS_NOT_ENABLED)
        self._peers.discard(pair)

    def _deviceEnsurePeerAccess(self, peerDevice: int) -> None:
        self._peers.add(self._pair(peerDevice))

    def profilerStart(self) -> None:
        """There is nothing to profile."""

    def profilerStop(self) -> None:
        """There is nothing to profile."""

    def _pair(self, peer: int) -> tuple[int, int]:
        """Access of the current device to `peer`."""
        current = self._devices.current
        if self._devices.check(peer) == current:
            fail(RuntimeStatus.INVALID_DEVICE)
        return current, peer
