"""A server over a driver: decides on the thread that issues, acts on the server's own.

Backends bring a `Driver`; modes, counting, order, failures and reads are the same for all.
"""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar
from weakref import WeakSet

import numpy
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gpurt_core.compilation import KernelLoader, open_loader
from gpurt_core.errors import ServerClosed
from gpurt_core.execution import IssuedRecorder, LaunchMode
from gpurt_core.servers.arrays import ServerArray, normal_shape
from gpurt_core.servers.driver import Driver
from gpurt_core.servers.failures import Failures
from gpurt_core.servers.kernels import Kernel, Launch, dimensions
from gpurt_core.servers.launching import Issued, Launcher
from gpurt_core.servers.options import ServerOptions
from gpurt_core.servers.reads import ReadObservers
from gpurt_core.servers.server_thread import ServerThread
from gpurt_core.servers.streams import ServerStream

T = TypeVar("T")


class DeviceServer:
    """The server of one device; see `Server` for what its methods do."""

    def __init__(self, name: str, driver: Driver, options: ServerOptions | None = None) -> None:
        self._options = options = options or ServerOptions()
        self.name = name
        self.service = name
        self.reads = ReadObservers()
        self._driver = driver
        self._loader: KernelLoader[str, Any, Any, Any] = open_loader(
            driver.target,
            claims=options.claims,
            parallelism=options.parallelism,
            on_settled=options.on_settled,
        )
        self._failures = Failures()
        self._launcher = Launcher(name, driver, self._loader, self._failures)
        self._thread = ServerThread(f"gpurt-{name}")
        self._stream_ids = itertools.count()
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._users = 1
        self.default_stream = self.stream()
        _servers.add(self)

    def __repr__(self) -> str:
        return f"<server {self.name}>"

    @property
    def fingerprint(self) -> str:
        """The device, its driver and its compiler, with their versions."""
        return self._driver.fingerprint

    def stream(self) -> ServerStream:
        """Another stream."""
        return ServerStream(self, self.service, next(self._stream_ids))

    # Launches

    def launch(
        self,
        kernel: Kernel,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        stream: ServerStream | None = None,
    ) -> None:
        """Launches `grid` blocks of `block` threads each, as the modes in force here say."""
        self._check_usable()
        stream = self.default_stream if stream is None else stream
        self._check_is_mine(stream)
        launch = Launch(
            kernel,
            dimensions("grid", grid),
            dimensions("block", block),
            tuple(self._checked(kernel, argument) for argument in args),
            stream.id,
        )
        id, source = self._driver.identify(kernel)
        mode = LaunchMode.resolve(stream.service_stream)
        timings = stream.timings
        for timing in timings:
            timing.launches.append(launch)
        issued = Issued(launch, id, source, mode, IssuedRecorder.capture(), timings)
        self._thread.submit(partial(self._launcher.do, issued))

    def _checked(self, kernel: Kernel, argument: Any) -> Any:
        if isinstance(argument, ServerArray):
            if argument.server is not self:
                raise ValueError(f"{argument!r} cannot be given to a launch on {self.name}")
        elif not isinstance(argument, numpy.generic):
            raise TypeError(
                f"argument {argument!r} of kernel {kernel.name!r} is neither an array of "
                f"{self.name} nor a NumPy scalar: say its type, as numpy.int32({argument!r})"
            )
        return argument

    def _check_is_mine(self, stream: ServerStream) -> None:
        if stream.service_stream.service != self.service:
            raise ValueError(f"{stream!r} is not a stream of {self.name}")

    def synchronize(self) -> None:
        """Waits until everything launched is done; raises the first failure, with the others."""
        self._call(self._launcher.wait_for_all)
        self._failures.raise_any()

    def profile(self, function: Callable[[], object], stream: ServerStream | None = None) -> float:
        """Seconds on the device of what `function`, on this thread, launches on `stream`."""
        stream = self.default_stream if stream is None else stream
        self._check_is_mine(stream)
        with stream.timing() as timing:
            function()
        self._call(partial(self._launcher.wait, stream.id))
        self._failures.raise_any(lambda launch: any(launch is mine for mine in timing.launches))
        return timing.seconds()

    # Arrays

    def array(self, values: ArrayLike) -> ServerArray:
        """An array with these values."""
        host = numpy.asarray(values, order="C")
        array = self.empty(host.shape, host.dtype)
        self.write_array(array, host)
        return array

    def empty(self, shape: int | Sequence[int], dtype: DTypeLike) -> ServerArray:
        """An array whose values mean nothing."""
        lengths, kind = normal_shape(shape), numpy.dtype(dtype)
        if kind.hasobject:
            raise TypeError(f"an array of {kind} cannot be on a device: it holds Python objects")
        nbytes = int(numpy.prod(lengths, dtype=numpy.int64)) * kind.itemsize
        memory = self._call(partial(self._driver.allocate, nbytes))
        return ServerArray(self, lengths, kind, memory)

    def read_array(self, array: ServerArray, out: NDArray[Any]) -> None:
        """Copies it to a contiguous array; raises the failures of launches that it was given to."""
        self.reads.tell(array)
        self._call(self._launcher.wait_for_all)
        self._failures.raise_any(lambda launch: any(array is given for given in launch.args))
        if array.nbytes:
            self._call(partial(self._copy, self._driver.read, array, out))

    def write_array(self, array: ServerArray, values: NDArray[Any]) -> None:
        """Copies a contiguous array to it, when the launches before are done."""
        if array.nbytes:
            self._call(partial(self._copy, self._driver.write, array, values))

    def _copy(self, copy: Callable[..., None], array: ServerArray, host: NDArray[Any]) -> None:
        self._launcher.wait_for_all()
        copy(array.memory, host, self._launcher.stream(self.default_stream.id))

    # Compiling

    def compile_queued(self) -> None:
        """Compiles what is queued."""
        self._call(self._loader.compile_queued)

    def begin_generation(self) -> None:
        """Starts accounting anew: kernels are obtained again when they are next reached."""
        self._call(self._loader.begin_generation)

    # Opening and closing

    def join(self, options: ServerOptions) -> bool:
        """Counts one more user, who closes it too; false where it cannot be used any more."""
        if self._process != os.getpid():
            return False
        with self._lock:
            if not self._users:
                return False
            if options not in (ServerOptions(), self._options):
                raise ValueError(
                    f"{self.name} is connected with other options: close that server first, "
                    "or connect without options to share it"
                )
            self._users += 1
            return True

    def close(self) -> None:
        """Finishes what was launched and gives the device back, when its last user closes it."""
        if self._process != os.getpid():
            return
        with self._lock:
            last, self._users = self._users == 1, max(self._users - 1, 0)
        if last:
            self._thread.call(self._launcher.finish)
            self._thread.close()
            _warn_of_unseen(self.name, self._failures)

    def __del__(self) -> None:
        # Nothing is waited for here: a collection may happen while any lock is held.
        if getattr(self, "_users", 0) and self._process == os.getpid():
            self._users = 0
            self._thread.submit(self._launcher.finish)
            self._thread.submit(partial(_warn_of_unseen, self.name, self._failures))
            self._thread.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _call(self, function: Callable[[], T]) -> T:
        self._check_usable()
        return self._thread.call(function)

    def _check_usable(self) -> None:
        if self._process != os.getpid():
            raise ServerClosed(self.name, f"belongs to process {self._process}, not to its fork")
        if not self._users:
            raise ServerClosed(self.name, "is closed")


def _warn_of_unseen(server: str, failures: Failures) -> None:
    unseen = failures.take()
    if unseen:
        warnings.warn(
            f"server {server} was closed with failures that nobody saw; "
            f"call synchronize() before: {'; '.join(map(str, unseen))}",
            RuntimeWarning,
            stacklevel=3,
        )


_servers: WeakSet[DeviceServer] = WeakSet()


def _close_all() -> None:
    """Before the interpreter ends, what was launched is done."""
    for server in list(_servers):
        with server._lock:
            server._users = min(server._users, 1)
        server.close()


atexit.register(_close_all)
