"""A server: the one owner of a device, as its users see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from numpy.typing import ArrayLike, DTypeLike

from gpurt_core.servers.arrays import ServerArray
from gpurt_core.servers.kernels import Kernel
from gpurt_core.servers.options import ServerOptions
from gpurt_core.servers.reads import ReadObservers
from gpurt_core.servers.streams import ServerStream


class Server(Protocol):
    """A device with its kernels, streams and arrays. Safe on any thread."""

    @property
    def name(self) -> str:
        """Its address, as `"opencl:0"`."""

    @property
    def service(self) -> str:
        """What the `ServiceStream`s of its streams name: its address."""

    @property
    def fingerprint(self) -> str:
        """The device, its driver and its compiler, with their versions."""

    @property
    def default_stream(self) -> ServerStream:
        """The stream of launches that name none."""

    @property
    def reads(self) -> ReadObservers:
        """Who is told when an array is read back."""

    def stream(self) -> ServerStream:
        """Another stream, which is not ordered with the others but by `synchronize`."""

    def launch(
        self,
        kernel: Kernel,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        stream: ServerStream | None = None,
    ) -> None:
        """Launches `grid` blocks of `block` threads each, as the modes in force here say.

        Arguments are arrays of this server and NumPy scalars. Returns at once. What goes wrong is
        raised, as `LaunchFailed`, by the next `synchronize` or read of an array among `args`.
        Raises `KernelLanguageMissing`, and `TypeError` or `ValueError` for bad arguments.
        """

    def array(self, values: ArrayLike) -> ServerArray:
        """An array with these values."""

    def empty(self, shape: int | Sequence[int], dtype: DTypeLike) -> ServerArray:
        """An array whose values mean nothing."""

    def synchronize(self) -> None:
        """Waits until everything launched is done; raises the first failure, with the others."""

    def profile(self, function: Callable[[], object], stream: ServerStream | None = None) -> float:
        """Seconds on the device of what `function`, on this thread, launches on `stream`.

        Raises `LaunchFailed` for one of these launches. Discarded ones take no time.
        """

    def compile_queued(self) -> None:
        """Compiles what is queued."""

    def begin_generation(self) -> None:
        """Starts accounting anew: kernels are obtained again when they are next reached."""

    def join(self, options: ServerOptions) -> bool:
        """Counts one more user, who closes it too; false where it cannot be used any more.

        Raises `ValueError` where the options are neither its own nor the default ones.
        """

    def close(self) -> None:
        """Finishes what was launched, abandons what is queued, and gives the device back.

        Does so when its last user closes it; see `connect`. Warns of failures that nobody was told
        of.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
