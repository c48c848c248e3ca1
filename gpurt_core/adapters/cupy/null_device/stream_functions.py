"""Streams, captures and graphs, under the names that CuPy calls them by."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpurt_core.adapters.cupy.null_device.handles import Handles
from gpurt_core.adapters.cupy.null_device.status import RuntimeStatus, fail
from gpurt_core.adapters.cupy.null_device.streams import Graph, HostFunction, Streams
from gpurt_core.execution import ReadMonitor


class StreamFunctions:
    """Streams; functions of the host that are launched on them are called at once."""

    def __init__(self, streams: Streams, reads: ReadMonitor) -> None:
        self._streams = streams
        self._reads = reads
        self._graphs: Handles[Graph] = Handles(lambda: fail(RuntimeStatus.INVALID_VALUE))
        self._executables: Handles[Graph] = Handles(lambda: fail(RuntimeStatus.INVALID_VALUE))

    def streamCreate(self) -> int:
        return self._streams.create(0, 0)

    def streamCreateWithFlags(self, flags: int) -> int:
        return self._streams.create(flags, 0)

    def streamCreateWithPriority(self, flags: int, priority: int) -> int:
        return self._streams.create(flags, priority)

    def streamGetFlags(self, stream: int) -> int:
        found = self._streams.check(stream)
        return found.flags if found is not None else 0

    def streamGetPriority(self, stream: int) -> int:
        found = self._streams.check(stream)
        return found.priority if found is not None else 0

    def streamDestroy(self, stream: int) -> None:
        self._streams.drop(stream)

    def streamSynchronize(self, stream: int) -> None:
        self._streams.forbid_waiting(stream)

    def streamQuery(self, stream: int) -> int:
        """Returns the status instead of raising it, as CuPy's does."""
        try:
            self._streams.forbid_waiting(stream)
        except RuntimeError as error:
            return int(getattr(error, "status"))  # noqa: B009  CUDARuntimeError has no stubs
        return 0

    def streamAddCallback(
        self, stream: int, callback: Callable[[int, int, int], Any], arg: int, flags: int = 0
    ) -> None:
        if self._streams.capture_of(stream) is not None:
            self._streams.forbid_waiting(stream)
        _call(lambda: callback(stream, 0, arg))

    def launchHostFunc(self, stream: int, callback: Callable[[int], Any], arg: int) -> None:
        self._host_function(stream, lambda: callback(arg))

    def _launchHostFuncUnmanaged(
        self, stream: int, func_arg: tuple[Callable[[Any], Any], Any]
    ) -> None:
        function, argument = func_arg
        self._host_function(stream, lambda: function(argument))

    def _host_function(self, stream: int, function: HostFunction) -> None:
        capture = self._streams.capture_of(stream)
        if capture is not None:
            capture.graph.host_functions.append(function)
        else:
            _call(function)

    def streamBeginCapture(self, stream: int, mode: int = 2) -> None:
        self._streams.begin_capture(stream, mode)

    def streamEndCapture(self, stream: int) -> int:
        return self._graphs.add(self._streams.end_capture(stream))

    def streamIsCapturing(self, stream: int) -> int:
        capture = self._streams.capture_of(stream)
        if capture is not None and not capture.valid:
            raise RuntimeError("the stream was being captured, and an error has ended that")
        return int(capture is not None)

    def graphDestroy(self, graph: int) -> None:
        self._graphs.remove(graph)

    def graphInstantiate(self, graph: int) -> int:
        return self._executables.add(self._graphs.get(graph))

    def graphExecDestroy(self, graphExec: int) -> None:
        self._executables.remove(graphExec)

    def graphLaunch(self, graphExec: int, stream: int) -> None:
        graph = self._executables.get(graphExec)
        self._streams.check(stream)
        for function in graph.host_functions:
            _call(function)

    def graphUpload(self, graphExec: int, stream: int) -> None:
        self._executables.get(graphExec)
        self._streams.check(stream)

    def graphDebugDotPrint(self, graph: int, path: str, flags: int) -> None:
        """A graph of host functions: kernels never reach it. So it is as meaningless as what is
        read back, and counts as a read."""
        self._reads.record()
        nodes = "".join(
            f'  "host_{number}" [label="host function"];\n'
            for number, _ in enumerate(self._graphs.get(graph).host_functions)
        )
        try:
            Path(path).write_text(f"digraph dot {{\n{nodes}}}\n", encoding="utf-8")
        except OSError:
            fail(RuntimeStatus.OPERATING_SYSTEM)


def _call(function: HostFunction) -> None:
    """An exception cannot leave a function that CUDA calls. `ctypes` reports it as unraisable."""
    _PROTOTYPE(function)()


_PROTOTYPE = ctypes.CFUNCTYPE(None)
