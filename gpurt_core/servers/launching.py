"""Doing what was issued, on the server's thread: queueing, loading, running, waiting.

A launch that fails is kept in `failures`, with its name and sizes, and the next one goes on.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from gpurt_core.compilation import KernelLoader
from gpurt_core.errors import LaunchFailed
from gpurt_core.execution import IssuedRecorder, LaunchMode
from gpurt_core.servers.driver import Driver, Run
from gpurt_core.servers.failures import Failures
from gpurt_core.servers.kernels import Launch
from gpurt_core.servers.streams import Timing

_MOST_IN_FLIGHT = 512
"""How many launches of a stream are held until it is waited for: each holds its arrays."""


@dataclass(frozen=True, slots=True)
class Issued:
    """A launch, with all that was decided on the thread that issued it."""

    launch: Launch
    id: str
    source: Any
    """What the target compiles."""
    mode: LaunchMode
    recorder: IssuedRecorder
    timings: tuple[Timing, ...]


class Launcher:
    """The launches of one server. Used on its thread only."""

    def __init__(
        self,
        server: str,
        driver: Driver,
        loader: KernelLoader[str, Any, Any, Any],
        failures: Failures,
    ) -> None:
        self._server = server
        self._driver = driver
        self._loader = loader
        self._failures = failures
        self._streams: dict[int, Any] = {}
        self._in_flight: dict[int, list[tuple[Launch, Run]]] = {}

    def stream(self, id: int) -> Any:
        """The driver's stream of this number."""
        if id not in self._streams:
            self._streams[id] = self._driver.open_stream()
            self._in_flight[id] = []
        return self._streams[id]

    def do(self, issued: Issued) -> None:
        """Does what its mode says. Raises nothing."""
        try:
            prepared = self._reach(issued)
        except BaseException as error:
            self._fail(issued.launch, error, refused=True)
            return
        if issued.mode.discards:
            return
        try:
            self._run(issued, prepared)
        except BaseException as error:
            self._fail(issued.launch, error, refused=self._driver.refuses(error))

    def _reach(self, issued: Issued) -> Any:
        with issued.recorder.applied():
            if issued.mode is LaunchMode.QUEUE:
                self._loader.enqueue(issued.id, issued.source)
                return None
            loaded = self._loader.load(issued.id, issued.source)
        return self._driver.prepare(loaded, issued.launch)

    def _run(self, issued: Issued, prepared: Any) -> None:
        launch = issued.launch
        stream = self.stream(launch.stream)
        run = self._driver.run(prepared, stream, timed=bool(issued.timings))
        for timing in issued.timings:
            timing.runs.append(run)
        in_flight = self._in_flight[launch.stream]
        in_flight.append((launch, run))
        if len(in_flight) >= _MOST_IN_FLIGHT:
            self.wait(launch.stream)

    def wait(self, id: int) -> None:
        """Waits for a stream. What failed on it is kept; raises what cannot be laid to a launch."""
        stream = self.stream(id)
        in_flight, self._in_flight[id] = self._in_flight[id], []
        wrong: Exception | None = None
        try:
            self._driver.wait(stream)
        except Exception as error:
            wrong = error
        failed = [(launch, reason) for launch, run in in_flight if (reason := run.failure)]
        if wrong is not None and not failed:
            if not in_flight:
                raise wrong
            failed = [(in_flight[-1][0], wrong)]
            wrong.add_note(f"the last of {len(in_flight)} launches that were not waited for")
        for launch, reason in failed:
            self._fail(launch, reason, refused=False)

    def wait_for_all(self) -> None:
        """Waits for all streams."""
        for id in list(self._streams):
            self.wait(id)

    def finish(self) -> None:
        """Waits for what runs, drops what is queued, and gives the device back. Raises nothing."""
        with contextlib.suppress(Exception):  # a device that is lost has nothing more to say
            self.wait_for_all()
        self._loader.abandon_queued()
        self._streams.clear()
        self._driver.close()

    def _fail(self, launch: Launch, error: BaseException, *, refused: bool) -> None:
        failure = LaunchFailed(
            str(launch),
            self._server,
            error,
            kernel=launch.kernel.name,
            grid=launch.grid,
            block=launch.block,
            refused=refused,
        )
        self._failures.add(launch, failure)
