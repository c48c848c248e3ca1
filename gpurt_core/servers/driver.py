"""What differs between devices: the driver under a `DeviceServer`.

All of it is called on the server's thread, but for `identify` and the attributes.
"""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from gpurt_core.compilation import CompilationTarget
from gpurt_core.servers.kernels import Kernel, Launch


class Run(Protocol):
    """A launch that went out."""

    @property
    def failure(self) -> BaseException | None:
        """Why it failed, once its stream was waited for."""

    @property
    def seconds(self) -> float:
        """How long it ran on the device, once its stream was waited for."""


class Driver(Protocol):
    """One device."""

    @property
    def language(self) -> str:
        """The language of its kernels: a field of `Kernel`."""

    @property
    def fingerprint(self) -> str:
        """The device, its driver and its compiler, with their versions."""

    @property
    def target(self) -> CompilationTarget[str, Any, Any, Any]:
        """What compiles and loads its kernels."""

    def identify(self, kernel: Kernel) -> tuple[str, Any]:
        """A kernel's id, and what `target` compiles. Called on the thread that launches."""

    def open_stream(self) -> Any:
        """Another stream of the device."""

    def wait(self, stream: Any) -> None:
        """Returns when everything on the stream is done; raises what the device says is wrong."""

    def allocate(self, nbytes: int) -> Any:
        """Memory of so many bytes, freed when nobody has it any more."""

    def write(self, memory: Any, host: NDArray[Any], stream: Any) -> None:
        """Copies a contiguous array to memory, and waits for it."""

    def read(self, memory: Any, host: NDArray[Any], stream: Any) -> None:
        """Copies memory to a contiguous array, and waits for it."""

    def prepare(self, loaded: Any, launch: Launch) -> Any:
        """A launch that is ready to run; raises what the device would not accept of it.

        Arrays among its arguments are `ServerArray`s, of this device.
        """

    def run(self, prepared: Any, stream: Any, *, timed: bool) -> Run:
        """Runs it; its time is asked for only if it is `timed`."""

    def refuses(self, error: BaseException) -> bool:
        """Whether a launch that ended with this error never began, and the device is as it was."""

    def close(self) -> None:
        """Gives the device back."""
