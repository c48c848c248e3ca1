"""Events: a time on the host's clock, and the knots that tie streams into a capture."""

from __future__ import annotations

import time
from dataclasses import dataclass

from gpurt_core.adapters.cupy.null_device.devices import Devices
from gpurt_core.adapters.cupy.null_device.handles import Handles
from gpurt_core.adapters.cupy.null_device.status import RuntimeStatus, fail
from gpurt_core.adapters.cupy.null_device.streams import Capture, Stream, Streams

_DISABLE_TIMING = 2  # cudaEventDisableTiming
_INTERPROCESS = 4  # cudaEventInterprocess
_ALL_FLAGS = 7


@dataclass(eq=False)
class _Event:
    device: int
    flags: int
    recorded: int | None = None
    """Nanoseconds."""
    capture: Capture | None = None
    stream: Stream | None = None


class EventFunctions:
    """Events."""

    def __init__(self, devices: Devices, streams: Streams) -> None:
        self._devices = devices
        self._streams = streams
        self._events: Handles[_Event] = Handles(lambda: fail(RuntimeStatus.INVALID_RESOURCE_HANDLE))

    def eventCreate(self) -> int:
        return self.eventCreateWithFlags(0)

    def eventCreateWithFlags(self, flags: int) -> int:
        if flags & ~_ALL_FLAGS or (flags & _INTERPROCESS and not flags & _DISABLE_TIMING):
            fail(RuntimeStatus.INVALID_VALUE)
        return self._events.add(_Event(self._devices.current, flags))

    def eventDestroy(self, event: int) -> None:
        self._events.remove(event)

    def eventRecord(self, event: int, stream: int) -> None:
        found = self._events.get(event)
        on = self._streams.check(stream)
        found.stream = on
        found.capture = on.capture if on is not None else None
        found.recorded = time.perf_counter_ns()

    def eventSynchronize(self, event: int) -> None:
        found = self._events.get(event)
        if _is_captured(found):
            fail(RuntimeStatus.CAPTURED_EVENT)

    def eventQuery(self, event: int) -> int:
        found = self._events.get(event)
        return int(RuntimeStatus.CAPTURED_EVENT) if _is_captured(found) else 0

    def eventElapsedTime(self, start: int, end: int) -> float:
        first, last = self._events.get(start), self._events.get(end)
        if (first.flags | last.flags) & _DISABLE_TIMING:
            fail(RuntimeStatus.INVALID_RESOURCE_HANDLE)
        if first.recorded is None or last.recorded is None:
            fail(RuntimeStatus.INVALID_RESOURCE_HANDLE)
        return max(0.0, (last.recorded - first.recorded) / 1e6)

    def streamWaitEvent(self, stream: int, event: int, flags: int = 0) -> None:
        """A stream that waits for captured work is captured, too; one that waits for a forked
        stream joins it."""
        found, waiting = self._events.get(event), self._streams.check(stream)
        capture = found.capture
        if waiting is None or capture is None or not _is_captured(found):
            return
        if waiting.capture is None:
            waiting.capture = capture
            capture.members.add(waiting)
            capture.forked.add(waiting)
        if found.stream is not None and found.stream is not waiting:
            capture.forked.discard(found.stream)


def _is_captured(event: _Event) -> bool:
    capture = event.capture
    return capture is not None and capture.origin.capture is capture
