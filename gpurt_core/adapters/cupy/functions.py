"""Modules and functions of CuPy that resolve their verdict at each launch.

CuPy keeps the functions that it was given, for each device, for as long as it likes. So what a
launch does is not settled when a function is made, but by the function when it is launched: it is
queued or loaded when it is first reached under the modes in force, and anew when accounting has
started anew. After that a launch costs one comparison more than CuPy's own.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cupy.cuda import function
from cupy_backends.cuda.api import driver

from gpurt_core.execution.modes import ModesInForce, published

if TYPE_CHECKING:
    from gpurt_core.adapters.cupy.compiler import CudaKernel
    from gpurt_core.adapters.cupy.device import SteeredDevice
    from gpurt_core.adapters.cupy.target import LoadedModule

_launch = function.Function.__call__
_launch_linear = function.Function.linear_launch

_MOST_THREADS = 1024
"""Of a block, on every device."""


class SteeredModule(function.Module):  # type: ignore[misc]
    """A module that is queued, or loaded, when it is reached.

    It has no handle of its own (`ptr` is 0): the one that it loads has.
    """

    def __init__(self, id: str, kernel: CudaKernel, device: SteeredDevice) -> None:
        # Not super().__init__(): there is nothing to set that is not zero already.
        self.id = id
        self.kernel = kernel
        self.device = device
        self.loaded: LoadedModule | None = None
        expressions = kernel.request.name_expressions
        if expressions:
            self._set_mapping({expression: expression for expression in expressions})

    def reach(self) -> None:
        """Queues it, or loads it, as the modes in force say for the current stream."""
        __tracebackhide__ = True
        if self.device.queues(None):
            self.device.enqueue(self.id, self.kernel)
        else:
            self.load()

    def load(self) -> LoadedModule:
        """Loads it; raises what CuPy would raise."""
        __tracebackhide__ = True
        loaded = self.device.load(self.id, self.kernel)
        if loaded is not self.loaded:
            self.loaded = loaded
            if loaded.artifact.names:
                self._set_mapping(dict(loaded.artifact.names))
        return loaded

    def get_function(self, name: str | bytes) -> SteeredFunction:
        """A function of the module; raises CuPy's error when there is no such function."""
        __tracebackhide__ = True
        text = name.decode() if isinstance(name, bytes) else name
        self.reach()
        if self.loaded is None and not self.kernel.request.may_define(text):
            self.load()
        if self.loaded is None:
            self.device.expect_function(self.id, text)
        elif self.device.is_null and not self.loaded.artifact.defines(self.loaded.name_of(text)):
            self.loaded.module.get_function(text)  # raises what CuPy raises
        return SteeredFunction(self, text)

    def get_global_var(self, name: str | bytes) -> int:
        """The address of a variable: known once it is loaded."""
        address: int = self.load().module.get_global_var(name)
        return address


class SteeredFunction(function.Function):  # type: ignore[misc]
    """A function of a `SteeredModule`."""

    def __init__(self, module: SteeredModule, name: str) -> None:
        # Not super().__init__(): it asks the driver at once.
        self.module = module
        self.name = name
        self._device = module.device
        self._under: ModesInForce | None = None
        self._checked: tuple[tuple[int, ...], tuple[int, ...], int] | None = None
        self._loaded: LoadedModule | None = None
        null = module.device.null_device
        if null is not None:
            self.ptr = null.register_function(partial(_resolve, module, name))
        else:
            self._take(module.load())

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Any,
        shared_mem: int = 0,
        stream: Any = None,
        enable_cooperative_groups: bool = False,
    ) -> None:
        """Launches it, or does with it what the modes in force say."""
        __tracebackhide__ = True
        if self._under is not published.in_force and self._reach(stream):
            return
        shape = (grid, block, shared_mem)
        if self._checked != shape:
            self._device.check_launch(self.ptr, grid, block, shared_mem)
            self._checked = shape
        _launch(self, grid, block, args, shared_mem, stream, enable_cooperative_groups)

    def linear_launch(
        self,
        size: int,
        args: Any,
        shared_mem: int = 0,
        block_max_size: int = 128,
        stream: Any = None,
        enable_cooperative_groups: bool = False,
    ) -> None:
        """Launches it over `size` threads, or does with it what the modes in force say."""
        __tracebackhide__ = True
        if self._under is not published.in_force and self._reach(stream):
            return
        if shared_mem or block_max_size > _MOST_THREADS:
            self._device.check_launch(self.ptr, (1,), (min(block_max_size, size),), shared_mem)
        _launch_linear(
            self, size, args, shared_mem, block_max_size, stream, enable_cooperative_groups
        )

    def _reach(self, stream: Any) -> bool:
        """Queues or loads its module, on the way to a launch; whether that launch is dropped here.

        On the null device the driver drops it: so CuPy checks its arguments, as always.
        """
        __tracebackhide__ = True
        in_force = published.in_force
        device = self._device
        if device.queues(stream):
            device.enqueue(self.module.id, self.module.kernel)
        else:
            self._take(self.module.load())
        if not device.is_null and device.verdict(stream).discards:
            return True
        if not in_force.exceptions:
            self._under = in_force
        return False

    def _take(self, loaded: LoadedModule) -> None:
        if loaded is self._loaded:
            return
        if not self._device.is_null:
            self.ptr = driver.moduleGetFunction(loaded.module.ptr, loaded.name_of(self.name))
        self._loaded = loaded

    def __del__(self) -> None:
        null = self._device.null_device
        if null is not None and self.ptr:
            null.release_function(self.ptr)


def _resolve(module: SteeredModule, name: str) -> tuple[bytes, str]:
    """What the null device asks when it needs to know a kernel: its image and its name in there."""
    loaded = module.load()
    return loaded.artifact.image, loaded.name_of(name)
