"""A stream whose device is simulated: candidates say how long they take."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable

from gpurt_core.execution import LaunchMode, ServiceStream

_services = itertools.count()


class _Time(threading.local):
    """As on a server, what another thread launches is not in the time that is taken."""

    seconds = 0.0


class SimulatedStream:
    """Launches add their time, if the modes let them run. Every stream is another device."""

    def __init__(self, device: str = "simulated 1.0") -> None:
        self.device = device
        self.service_stream = ServiceStream(f"simulated:{next(_services)}", 0)
        self.launched: list[str] = []
        """What ran."""
        self.discarded: list[str] = []
        self.lost = False
        """Whether the device fails everything."""
        self.most_at_once = 0
        """So many were profiled at once, at the most."""
        self._profiled = 0
        self._time = _Time()

    def launch(self, name: str, seconds: float) -> None:
        """Launches something that takes so long."""
        if LaunchMode.resolve(self.service_stream).discards:
            self.discarded.append(name)
            return
        self.launched.append(name)
        self._time.seconds += seconds

    def profile(self, function: Callable[[], object]) -> float:
        """Seconds of what it launches."""
        self._profiled += 1
        self.most_at_once = max(self.most_at_once, self._profiled)
        try:
            before = self._time.seconds
            function()
            self.synchronize()
            return self._time.seconds - before
        finally:
            self._profiled -= 1

    def synchronize(self) -> None:
        """Raises when the device is lost."""
        if self.lost:
            raise ConnectionError("the simulated device is lost")

    def compile_queued(self) -> None:
        """Nothing is compiled for it."""


def timed(
    stream: SimulatedStream, name: str, seconds: float | Iterable[float]
) -> Callable[..., str]:
    """A candidate that takes so long at every call, or so long one call after another."""
    times = itertools.repeat(seconds) if isinstance(seconds, (int, float)) else iter(seconds)

    def run(*args: object) -> str:
        stream.launch(name, next(times))
        return name

    return run


def after(first: Callable[[], object], run: Callable[..., str]) -> Callable[..., str]:
    """A candidate that does something first."""

    def both(*args: object) -> str:
        first()
        return run(*args)

    return both


def raising(*errors: Exception | None) -> Callable[..., str]:
    """A candidate that raises these, one call after another; the last at every further call."""
    left = list(errors)

    def run(*args: object) -> str:
        error = left.pop(0) if len(left) > 1 else left[0]
        if error is not None:
            raise error
        return "ran"

    return run
