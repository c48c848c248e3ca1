"""What a launch, or a build, of PyOpenCL code does: the modes in force, as they apply here."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpurt_core.errors import NoDevice
from gpurt_core.execution import IssuedRecorder, LaunchMode, ServiceStream
from gpurt_core.execution.modes import published
from gpurt_core.servers.opencl.devices import find_devices


class Steering:
    """The verdicts of one seam."""

    def __init__(self) -> None:
        self.eager = False
        """Whether kernels are built where they are asked for, though launches are dropped."""
        self._services: dict[Any, str] = {}
        self._of_thread = _OfThread()

    def service(self, device: Any) -> str:
        """What the streams of a device name: `"opencl:0"` for the first."""
        name = self._services.get(device)
        if name is None:
            name = self._services[device] = _service(device)
        return name

    def stream(self, queue: Any) -> ServiceStream:
        """The stream that a `pyopencl.CommandQueue` is."""
        return ServiceStream(self.service(queue.device), queue.int_ptr)

    def verdict(self, queue: Any) -> LaunchMode:
        """What a launch on a queue does; without one, what a build does."""
        if self._of_thread.executes:
            return LaunchMode.EXECUTE
        in_force = published.in_force
        if in_force.exceptions and queue is not None:
            return LaunchMode.resolve(self.stream(queue))
        return in_force.launch_mode

    def queues(self, queue: Any) -> bool:
        """Whether a kernel that is reached now is queued, rather than loaded."""
        return self.verdict(queue) is LaunchMode.QUEUE and not self.eager

    @contextmanager
    def executing_uncounted(self) -> Iterator[None]:
        """What this thread launches within the block runs, and counts nowhere."""
        before = self._of_thread.executes
        self._of_thread.executes = True
        try:
            with IssuedRecorder(None).applied():
                yield
        finally:
            self._of_thread.executes = before


def _service(device: Any) -> str:
    with contextlib.suppress(NoDevice):  # which a fork is told
        devices = find_devices()
        if device in devices:
            return f"opencl:{devices.index(device)}"
    return f"opencl:at-{device.int_ptr:x}"  # a part that somebody made of a device


class _OfThread(threading.local):
    executes = False
