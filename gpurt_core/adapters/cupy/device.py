"""One device that the seam steers: its loader, and the verdicts of its launches."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cupy.cuda import stream as streams

from gpurt_core.compilation import CompilationError, LoadRefused, QueueingLoader
from gpurt_core.execution import LaunchMode, ServiceStream
from gpurt_core.execution.modes import published

if TYPE_CHECKING:
    from gpurt_core.adapters.cupy.compiler import CudaKernel
    from gpurt_core.adapters.cupy.null_device import NullDevice
    from gpurt_core.adapters.cupy.target import LoadedModule


class SteeredDevice:
    """A device of CuPy's, by its number."""

    def __init__(
        self,
        number: int,
        loader: QueueingLoader,
        null_device: NullDevice | None,
        on_reached: Callable[[str, CudaKernel], object],
    ) -> None:
        self.number = number
        self.loader = loader
        self.null_device = null_device
        self.is_null = null_device is not None
        """Whether functions are compiled when the driver is asked about them, and launches are
        dropped by it."""
        self.eager = False
        """Whether kernels are compiled where they are asked for, though launches are dropped."""
        self.expected_functions: dict[str, set[str]] = {}
        """Kernel id to the functions that were taken from it before it was compiled."""
        self._service = f"cuda:{number}"
        self._on_reached = on_reached
        self._check_launch: Callable[..., None] | None = None

    def verdict(self, stream: Any) -> LaunchMode:
        """What a launch on `stream` does now; `None` is the current stream."""
        in_force = published.in_force
        if not in_force.exceptions:
            return in_force.launch_mode
        pointer = streams.get_current_stream().ptr if stream is None else stream.ptr
        return LaunchMode.resolve(ServiceStream(self._service, pointer))

    def queues(self, stream: Any) -> bool:
        """Whether a kernel that is reached now is queued, rather than loaded."""
        return not self.eager and self.verdict(stream) is LaunchMode.QUEUE

    def enqueue(self, id: str, kernel: CudaKernel) -> None:
        """Queues a kernel that was reached."""
        self._on_reached(id, kernel)
        self.loader.enqueue(id, kernel)

    def load(self, id: str, kernel: CudaKernel) -> LoadedModule:
        """Loads a kernel that was reached; raises what CuPy would raise."""
        __tracebackhide__ = True
        self._on_reached(id, kernel)
        try:
            loaded: LoadedModule = self.loader.load(id, kernel)
            return loaded
        except (CompilationError, LoadRefused) as error:
            if error.cause is None:
                raise
            failure = error.cause
        raise _fresh(failure)

    def expect_function(self, id: str, name: str) -> None:
        """Notes that a function was taken from a kernel that nobody has compiled yet."""
        self.expected_functions.setdefault(id, set()).add(name)

    def check_launch(
        self, pointer: int, grid: tuple[int, ...], block: tuple[int, ...], shared_mem: int
    ) -> None:
        """Raises what the null device would refuse of a launch's shape; a real one does itself."""
        if self.null_device is not None:
            self.null_device.check_launch(pointer, grid, block, shared_mem)


def _fresh(error: BaseException) -> BaseException:
    """A copy to raise: the one that is kept must not gather the frames of whoever raises it."""
    try:
        made = copy.copy(error)
    except Exception:
        return error
    return made if type(made) is type(error) else error
