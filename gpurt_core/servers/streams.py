"""Streams of a server, and the time that launches on one of them take."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from gpurt_core.execution import ServiceStream
from gpurt_core.servers.driver import Run
from gpurt_core.servers.kernels import Launch


class Timing:
    """The launches whose time is taken."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.launches: list[Launch] = []
        """What was launched: some of it may have failed or been discarded."""

    def seconds(self) -> float:
        """The time of all of them on the device; they must be done."""
        return sum(run.seconds for run in self.runs)


class StreamOwner(Protocol):
    """What a stream asks of its server."""

    @property
    def fingerprint(self) -> str:
        """Device, driver and compiler."""

    def profile(self, function: Callable[[], object], stream: ServerStream | None = None) -> float:
        """See `Server.profile`."""

    def synchronize(self) -> None:
        """See `Server.synchronize`."""

    def compile_queued(self) -> None:
        """See `Server.compile_queued`."""


class ServerStream:
    """A stream: launches on one go out, and run, in order. Made by `Server.stream`."""

    def __init__(self, server: StreamOwner, service: str, id: int) -> None:
        self._server = server
        self._timings = _Timings()
        self.id = id
        """Its number, from 0 for the default stream."""
        self.service_stream = ServiceStream(service, id)
        """What a `StreamModeOverride` of it names."""

    @property
    def device(self) -> str:
        """The fingerprint of its device."""
        return self._server.fingerprint

    def profile(self, function: Callable[[], object]) -> float:
        """Seconds on the device of what `function` launches on this stream."""
        return self._server.profile(function, self)

    def synchronize(self) -> None:
        """Waits for the server; raises what failed on it."""
        self._server.synchronize()

    def compile_queued(self) -> None:
        """Compiles what is queued for the server."""
        self._server.compile_queued()

    @contextmanager
    def timing(self) -> Iterator[Timing]:
        """Takes the time of what this thread launches here within the block."""
        timing = Timing()
        self._timings.open.append(timing)
        try:
            yield timing
        finally:
            self._timings.open.remove(timing)

    @property
    def timings(self) -> tuple[Timing, ...]:
        """Those that are open on this thread."""
        return tuple(self._timings.open)

    def __repr__(self) -> str:
        return f"<stream {self.id} of {self.service_stream.service}>"


class _Timings(threading.local):
    def __init__(self) -> None:
        self.open: list[Timing] = []
