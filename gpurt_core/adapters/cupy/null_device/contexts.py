"""Contexts: each device has a primary one; others may be made on top."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from gpurt_core.adapters.cupy.null_device.devices import Devices
from gpurt_core.adapters.cupy.null_device.handles import Handles
from gpurt_core.adapters.cupy.null_device.status import DriverStatus, fail_driver
from gpurt_core.adapters.cupy.null_device.streams import BUILT_IN, Streams


@dataclass(frozen=True)
class _Context:
    device: int


class ContextFunctions:
    """Contexts, of which a thread has one current."""

    def __init__(self, devices: Devices, streams: Streams) -> None:
        self._devices = devices
        self._streams = streams
        self._contexts: Handles[_Context] = Handles(
            lambda: fail_driver(DriverStatus.CUDA_ERROR_INVALID_CONTEXT)
        )
        self._primary = [self._contexts.add(_Context(n)) for n in range(len(devices.profiles))]
        self._of_thread = threading.local()

    def devicePrimaryCtxRelease(self, dev: int) -> None:
        self._check(dev)

    def ctxGetCurrent(self) -> int:
        """0 on a thread that has not chosen a device yet."""
        own: int = getattr(self._of_thread, "context", 0)
        found = self._contexts.find(own)
        if found is not None and found.device == self._devices.current:
            return own
        return self._primary[self._devices.current] if self._devices.has_context else 0

    def ctxSetCurrent(self, ctx: int) -> None:
        if ctx:
            self._devices.use(self._contexts.get(ctx).device)
        self._of_thread.context = ctx

    def ctxCreate(self, dev: int) -> int:
        context = self._contexts.add(_Context(self._check(dev)))
        self.ctxSetCurrent(context)
        return context

    def ctxDestroy(self, ctx: int) -> None:
        if ctx in self._primary:
            fail_driver(DriverStatus.CUDA_ERROR_INVALID_CONTEXT)
        self._contexts.remove(ctx)

    def ctxGetDevice(self) -> int:
        return self._devices.current

    def streamGetCtx(self, stream: int) -> int:
        if stream in BUILT_IN:
            return self.ctxGetCurrent()
        return self._primary[self._streams.handles.get(stream).device]

    def _check(self, device: int) -> int:
        if not 0 <= device < len(self._devices.profiles):
            fail_driver(DriverStatus.CUDA_ERROR_INVALID_DEVICE)
        return device
