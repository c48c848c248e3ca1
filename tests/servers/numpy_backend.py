"""A backend as a third package would add one: kernels are Python over NumPy, run on the host."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy
from numpy.typing import NDArray

from gpurt_core.compilation import ArtifactStore, CompilationError, LoadRefused
from gpurt_core.errors import NoDevice
from gpurt_core.servers import (
    Backend,
    DeviceAddress,
    DeviceServer,
    Kernel,
    Launch,
    Server,
    ServerArray,
    ServerOptions,
    hookimpl,
)
from gpurt_core.servers.options import NoStore


@dataclass(frozen=True, slots=True)
class PythonKernel(Kernel):
    """A kernel that may be written in Python: a function of `threads` and the arguments."""

    python: str | None = None


@dataclass
class Faults:
    """What goes wrong where a test asks for it."""

    refused: set[str] = field(default_factory=set)
    """Kernels whose launch the device finds invalid."""
    failing: set[str] = field(default_factory=set)
    """Kernels that fail while they run, which is known once their stream is waited for."""
    on_wait: Callable[[], object] = lambda: None
    on_run: Callable[[], object] = lambda: None


class NumpyRun:
    """A launch that ran."""

    def __init__(self, failure: BaseException | None, seconds: float) -> None:
        self.failure = failure
        self.seconds = seconds


class NumpyCompiler:
    """Compiles Python; what it makes is the text again, which is all that can be kept."""

    def lower(self, id: str, kernel: PythonKernel) -> PythonKernel:
        return kernel

    def source(self, lowered: PythonKernel) -> None:
        return None

    def finalize(self, id: str, lowered: PythonKernel) -> bytes:
        text = lowered.source("python")
        try:
            compile(text, lowered.name, "exec")
        except SyntaxError as error:
            message = f"{lowered.name} does not compile: {error}"
            raise CompilationError(message, kernel=lowered.name, cause=error) from error
        return text.encode()


class NumpyTarget:
    """Loads Python."""

    def __init__(self, store: ArtifactStore | None) -> None:
        self.compiler = NumpyCompiler()
        self.persists = store is not None
        self._store = store or NoStore()

    def stored(self, id: str) -> bytes | None:
        return self._store.artifact(id)

    def stored_for_source(self, source: str) -> bytes | None:
        return None

    def store(self, id: str, artifact: bytes, source: str | None) -> bool:
        return self._store.store(id, artifact)

    def load(self, id: str, artifact: bytes) -> dict[str, Any]:
        functions: dict[str, Any] = {"numpy": numpy}
        try:
            exec(artifact.decode(), functions)
        except Exception as error:
            raise LoadRefused(f"refused: {error}", cause=error) from error
        return functions


class NumpyDriver:
    """The host as a device."""

    language = "python"

    def __init__(self, store: ArtifactStore | None, faults: Faults) -> None:
        self.target = NumpyTarget(store)
        self.fingerprint = f"NumPy {numpy.__version__}"
        self.closed = False
        self._faults = faults

    def identify(self, kernel: Kernel) -> tuple[str, Kernel]:
        return hashlib.blake2b(kernel.source(self.language).encode()).hexdigest(), kernel

    def open_stream(self) -> str:
        return "a stream"

    def wait(self, stream: Any) -> None:
        self._faults.on_wait()

    def allocate(self, nbytes: int) -> NDArray[Any]:
        return numpy.zeros(nbytes, numpy.uint8)

    def write(self, memory: NDArray[Any], host: NDArray[Any], stream: Any) -> None:
        memory[:] = host.reshape(-1).view(numpy.uint8)

    def read(self, memory: NDArray[Any], host: NDArray[Any], stream: Any) -> None:
        host.reshape(-1).view(numpy.uint8)[:] = memory

    def prepare(self, loaded: dict[str, Any], launch: Launch) -> Callable[[], None]:
        if launch.kernel.name not in loaded:
            raise ValueError(f"there is no function {launch.kernel.name}")
        threads = int(numpy.prod(launch.grid) * numpy.prod(launch.block))
        given = [
            a.memory.view(a.dtype).reshape(a.shape) if isinstance(a, ServerArray) else a
            for a in launch.args
        ]
        name = launch.kernel.name

        def ready() -> None:
            if name in self._faults.refused:
                raise ValueError("invalid")
            if name in self._faults.failing:
                raise RuntimeError("broke down")
            loaded[name](threads, *given)

        return ready

    def run(self, prepared: Callable[[], None], stream: Any, *, timed: bool) -> NumpyRun:
        self._faults.on_run()
        began = time.perf_counter()
        failure: BaseException | None = None
        try:
            prepared()
        except RuntimeError as error:
            failure = error
        return NumpyRun(failure, time.perf_counter() - began)

    def refuses(self, error: BaseException) -> bool:
        return isinstance(error, ValueError)

    def close(self) -> None:
        self.closed = True


class NumpyBackend:
    """`"numpy:0"` is the host."""

    scheme = "numpy"

    def __init__(self, faults: Faults | None = None) -> None:
        self.faults = faults or Faults()

    def devices(self) -> list[str]:
        return ["the host"]

    def connect(self, address: DeviceAddress, options: ServerOptions) -> Server:
        if address.device:
            raise NoDevice(str(address), ["the only NumPy device is numpy:0"])
        return DeviceServer(str(address), NumpyDriver(options.environment, self.faults), options)


class NumpyPlugin:
    """What a package's entry point would name."""

    def __init__(self, faults: Faults | None = None) -> None:
        self._faults = faults

    @hookimpl
    def gpurt_servers(self) -> Backend:
        return NumpyBackend(self._faults)
