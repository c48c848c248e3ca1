"""A stream over a queue of PyOpenCL's own, on PoCL: what adapting one takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyopencl

from gpurt_core.execution import LaunchMode, ServiceStream
from gpurt_core.servers import Kernel


class OpenCLStream:
    """Launches go to a queue with profiling events, if the modes let them run."""

    service_stream = ServiceStream("pyopencl:0", 0)

    def __init__(self) -> None:
        device = pyopencl.get_platforms()[0].get_devices()[0]
        self.context = pyopencl.Context([device])
        self.device = f"{device.name} {device.driver_version} {device.version}"
        properties = pyopencl.command_queue_properties.PROFILING_ENABLE
        self.queue = pyopencl.CommandQueue(self.context, properties=properties)
        self._events: list[Any] = []

    def build(self, kernel: Kernel) -> Any:
        """A kernel, compiled."""
        program = pyopencl.Program(self.context, kernel.source("opencl")).build()
        return pyopencl.Kernel(program, kernel.name)

    def buffer(self, values: Any) -> Any:
        """A buffer with these values."""
        flags = pyopencl.mem_flags
        return pyopencl.Buffer(self.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=values)

    def launch(self, kernel: Any, size: int, local: int, *args: Any) -> None:
        """Launches `size` work-items in groups of `local`."""
        if not LaunchMode.resolve(self.service_stream).discards:
            self._events.append(kernel(self.queue, (size,), (local,), *args))

    def profile(self, function: Callable[[], object]) -> float:
        """Seconds between start and end of what it launches, by the device's clock."""
        self._events.clear()
        function()
        self.synchronize()
        nanoseconds: int = sum(event.profile.end - event.profile.start for event in self._events)
        return nanoseconds * 1e-9

    def synchronize(self) -> None:
        """Waits for the queue."""
        self.queue.finish()

    def compile_queued(self) -> None:
        """Kernels are compiled where they are built."""
