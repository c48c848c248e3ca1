"""Streams and captures. Everything on a stream has happened as soon as it was asked for.

Capturing follows CUDA's rules where a test can see them: which stream takes part, what is
forbidden meanwhile, and how a capture ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gpurt_core.adapters.cupy.null_device.devices import Devices
from gpurt_core.adapters.cupy.null_device.handles import Handles
from gpurt_core.adapters.cupy.null_device.status import RuntimeStatus, fail

LEGACY = (0, 1)
"""The default stream, which waits for all others: as no handle, and by its own."""
PER_THREAD = 2
BUILT_IN = (*LEGACY, PER_THREAD)

NON_BLOCKING = 1  # cudaStreamNonBlocking
_GREATEST_PRIORITY = -5  # what devices of 7.5 and later answer; the least is 0

HostFunction = Callable[[], None]


@dataclass(eq=False)
class Graph:
    """What a capture leaves: of all its work, only calls of the host can be told from nothing."""

    host_functions: list[HostFunction] = field(default_factory=list)


@dataclass(eq=False)
class Capture:
    """A capture, from its begin to its end."""

    origin: Stream
    graph: Graph = field(default_factory=Graph)
    forked: set[Stream] = field(default_factory=set)
    """Streams that joined through an event, and that the origin has not waited for yet."""
    members: set[Stream] = field(default_factory=set)
    valid: bool = True


@dataclass(eq=False)
class Stream:
    """One stream."""

    device: int
    flags: int = 0
    priority: int = 0
    capture: Capture | None = None


class Streams:
    """The streams of all devices."""

    def __init__(self, devices: Devices) -> None:
        self._devices = devices
        self.handles: Handles[Stream] = Handles(lambda: fail(RuntimeStatus.INVALID_RESOURCE_HANDLE))
        self._captures: set[Capture] = set()

    def create(self, flags: int, priority: int) -> int:
        if flags not in (0, NON_BLOCKING):
            fail(RuntimeStatus.INVALID_VALUE)
        priority = max(_GREATEST_PRIORITY, min(0, priority))
        return self.handles.add(Stream(self._devices.current, flags, priority))

    def check(self, stream: int) -> Stream | None:
        """The stream of a handle; None is a built-in one. Raises what CUDA raises when there is
        none, or when the default stream would have to wait for one that is captured."""
        if stream not in BUILT_IN:
            return self.handles.get(stream)
        if self._captures and stream != PER_THREAD:
            for capture in list(self._captures):
                if not capture.origin.flags & NON_BLOCKING:
                    fail(RuntimeStatus.STREAM_CAPTURE_IMPLICIT)
        return None

    def capture_of(self, stream: int) -> Capture | None:
        found = self.check(stream)
        return found.capture if found is not None else None

    def begin_capture(self, stream: int, mode: int) -> None:
        if stream in LEGACY:
            fail(RuntimeStatus.STREAM_CAPTURE_UNSUPPORTED)
        if not 0 <= mode <= 2:
            fail(RuntimeStatus.INVALID_VALUE)
        found = self.check(stream)
        if found is None:  # the thread's own default stream, about which nothing is kept
            fail(RuntimeStatus.STREAM_CAPTURE_UNSUPPORTED)
        if found.capture is not None:
            fail(RuntimeStatus.ILLEGAL_STATE)
        found.capture = Capture(found)
        found.capture.members.add(found)
        self._captures.add(found.capture)

    def end_capture(self, stream: int) -> Graph:
        found = None if stream in BUILT_IN else self.handles.get(stream)
        capture = found.capture if found is not None else None
        if capture is None:
            fail(RuntimeStatus.ILLEGAL_STATE)
        if found is not capture.origin:
            capture.valid = False
            fail(RuntimeStatus.STREAM_CAPTURE_UNMATCHED)
        self._captures.discard(capture)
        for member in capture.members:
            member.capture = None
        if not capture.valid:
            fail(RuntimeStatus.STREAM_CAPTURE_INVALIDATED)
        if capture.forked:
            fail(RuntimeStatus.STREAM_CAPTURE_UNJOINED)
        return capture.graph

    def drop(self, stream: int) -> None:
        """The stream is destroyed, and a capture with it."""
        found = self.handles.remove(stream)
        if found.capture is not None:
            found.capture.valid = False
            if found is found.capture.origin:
                self._captures.discard(found.capture)

    def forbid_waiting(self, stream: int) -> None:
        """Waiting for a captured stream is refused, and ruins the capture."""
        capture = self.capture_of(stream)
        if capture is not None:
            capture.valid = False
            fail(RuntimeStatus.STREAM_CAPTURE_UNSUPPORTED)
