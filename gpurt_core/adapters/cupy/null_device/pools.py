"""CUDA's own memory pools (`cudaMallocAsync`): accounts of what was allocated from each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpurt_core.adapters.cupy.null_device.devices import Devices
from gpurt_core.adapters.cupy.null_device.handles import Handles
from gpurt_core.adapters.cupy.null_device.memory import MemoryTable, MemoryType
from gpurt_core.adapters.cupy.null_device.profiles import MIB
from gpurt_core.adapters.cupy.null_device.status import RuntimeStatus, fail
from gpurt_core.adapters.cupy.null_device.streams import Streams
from gpurt_core.execution.forking import lock_held_over_forks

# cudaMemPoolAttr
_SETTINGS = (1, 2, 3, 4)  # three kinds of reuse, which are on, and the release threshold
_RESERVED, _RESERVED_HIGH, _USED, _USED_HIGH = 5, 6, 7, 8

_BLOCK = 32 * MIB
"""By what CUDA's pools grow."""


@dataclass(eq=False)
class _Pool:
    device: int
    settings: dict[int, int] = field(default_factory=lambda: {1: 1, 2: 1, 3: 1, 4: 0})
    used: int = 0
    used_high: int = 0
    reserved: int = 0
    """What the pool would hold of the device: it grows in blocks, and shrinks when trimmed."""
    reserved_high: int = 0

    def take(self, size: int) -> None:
        """Something of `size` bytes was allocated, or freed when that is negative."""
        self.used += size
        self.used_high = max(self.used_high, self.used)
        if self.used > self.reserved:
            self.reserved = _blocks(self.used)
            self.reserved_high = max(self.reserved_high, self.reserved)

    def trim(self, size: int) -> None:
        self.reserved = max(_blocks(self.used), min(self.reserved, _blocks(size)))


def _blocks(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


class PoolFunctions:
    """Pools, and what is allocated from them. Pools share the device: what one says it has
    reserved is not taken from the others."""

    def __init__(self, devices: Devices, table: MemoryTable, streams: Streams) -> None:
        self._devices = devices
        self._table = table
        self._streams = streams
        self._pools: Handles[_Pool] = Handles(lambda: fail(RuntimeStatus.INVALID_VALUE))
        self._default = [self._pools.add(_Pool(n)) for n in range(len(devices.profiles))]
        self._current = list(self._default)
        self._lock = lock_held_over_forks()

    def mallocAsync(self, size: int, stream: int) -> int:
        self._streams.check(stream)
        return self._allocate(size, self._current[self._devices.current])

    def mallocFromPoolAsync(self, size: int, pool: int, stream: int) -> int:
        self._streams.check(stream)
        return self._allocate(size, pool)

    def freeAsync(self, ptr: int, stream: int) -> None:
        self._streams.check(stream)
        freed = self._table.free(ptr, (MemoryType.DEVICE, MemoryType.MANAGED))
        if freed is None:
            fail(RuntimeStatus.INVALID_VALUE)
        self.account(freed.pool, -freed.size)

    def deviceGetDefaultMemPool(self, device: int) -> int:
        return self._default[self._devices.check(device)]

    def deviceGetMemPool(self, device: int) -> int:
        return self._current[self._devices.check(device)]

    def deviceSetMemPool(self, device: int, pool: int) -> None:
        self._pools.get(pool)
        self._current[self._devices.check(device)] = pool

    def memPoolCreate(self, props: Any) -> int:
        """`props` keeps its fields from Python; its pickled form has them in alphabetical order:
        allocType, devId, handleType, locationType."""
        _, (_, _, (_, device, *_)) = props.__reduce__()
        return self._pools.add(_Pool(self._devices.check(device)))

    def memPoolDestroy(self, pool: int) -> None:
        if pool in self._default:
            fail(RuntimeStatus.INVALID_VALUE)
        found = self._pools.remove(pool)
        if self._current[found.device] == pool:
            self._current[found.device] = self._default[found.device]

    def memPoolTrimTo(self, pool: int, size: int) -> None:
        with self._lock:
            self._pools.get(pool).trim(size)

    def memPoolGetAttribute(self, pool: int, attr: int) -> int:
        found = self._pools.get(pool)
        if attr in _SETTINGS:
            return found.settings[attr]
        values = {
            _RESERVED: found.reserved,
            _RESERVED_HIGH: found.reserved_high,
            _USED: found.used,
            _USED_HIGH: found.used_high,
        }
        if attr not in values:
            fail(RuntimeStatus.INVALID_VALUE)
        return values[attr]

    def memPoolSetAttribute(self, pool: int, attr: int, value: int) -> None:
        found = self._pools.get(pool)
        if attr in _SETTINGS:
            found.settings[attr] = int(value)
        elif attr == _RESERVED_HIGH and value == 0:  # a high-water mark can only be reset
            found.reserved_high = found.reserved
        elif attr == _USED_HIGH and value == 0:
            found.used_high = found.used
        else:
            fail(RuntimeStatus.INVALID_VALUE)

    def account(self, pool: int, size: int) -> None:
        """Something of `size` bytes was allocated from a pool (or freed, when negative)."""
        found = self._pools.find(pool)
        if found is not None:
            with self._lock:
                found.take(size)

    def _allocate(self, size: int, pool: int) -> int:
        device = self._pools.get(pool).device
        if size == 0:
            return 0
        allocation = self._table.allocate(size, MemoryType.DEVICE, device, pool)
        self.account(pool, size)
        return allocation.base
