"""A stream whose device is simulated: candidates say how long they take."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from gpurt_core.execution import LaunchMode, ServiceStream

_services = itertools.count()


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
        self._seconds = 0.0

    def launch(self, name: str, seconds: float) -> None:
        """Launches something that takes so long."""
        if LaunchMode.resolve(self.service_stream).discards:
            self.discarded.append(name)
            return
        self.launched.append(name)
        self._seconds += seconds

    def profile(self, function: Callable[[], object]) -> float:
        """Seconds of what it launches."""
        before = self._seconds
        function()
        self.synchronize()
        return self._seconds - before

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
