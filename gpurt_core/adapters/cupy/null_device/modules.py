"""Modules, kernels and their attributes, and launches, which do nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gpurt_core.adapters.cupy.null_device.copies import Copies
from gpurt_core.adapters.cupy.null_device.devices import Devices
from gpurt_core.adapters.cupy.null_device.handles import Handles
from gpurt_core.adapters.cupy.null_device.images import (
    DamagedImage,
    Image,
    Kernel,
    Variable,
    best_image,
)
from gpurt_core.adapters.cupy.null_device.memory import MemoryTable, MemoryType
from gpurt_core.adapters.cupy.null_device.status import DriverStatus, driver_error, fail_driver
from gpurt_core.execution.forking import lock_held_over_forks

Resolver = Callable[[], tuple[bytes, str]]
"""Compiles a kernel: its image, and its name in there."""

_OPAQUE_KERNEL_REGISTERS = 32
_OPAQUE_VARIABLE_SIZE = 65536  # the most that constant memory can hold


@dataclass(eq=False)
class Module:
    """A loaded module."""

    image: Image
    device: int
    functions: dict[str, int] = field(default_factory=dict)
    variables: dict[str, int] = field(default_factory=dict)


@dataclass(eq=False)
class Function:
    """A kernel, or the promise of one."""

    kernel: Kernel | None
    architecture: int
    resolve: Resolver | None = None
    settings: dict[int, int] = field(default_factory=dict)
    """What was set: the attribute's number to its value."""


class Modules:
    """The modules and functions of all devices."""

    def __init__(self, devices: Devices, table: MemoryTable, copies: Copies) -> None:
        self._devices = devices
        self._table = table
        self._copies = copies
        self.modules: Handles[Module] = Handles(_invalid_handle)
        self.functions: Handles[Function] = Handles(_invalid_handle)
        self._lock = lock_held_over_forks()

    def load(self, content: bytes) -> int:
        """Loads an image onto the current device."""
        image = self._read(content)
        return self.modules.add(Module(image, self._devices.current))

    def load_file(self, path: str) -> int:
        try:
            content = Path(path).read_bytes()
        except FileNotFoundError:
            fail_driver(DriverStatus.CUDA_ERROR_FILE_NOT_FOUND)
        except OSError:
            fail_driver(DriverStatus.CUDA_ERROR_INVALID_VALUE)
        return self.load(content)

    def unload(self, module: int) -> None:
        """Its functions and variables go with it."""
        found = self.modules.remove(module)
        for function in found.functions.values():
            self.functions.remove(function)
        for address in found.variables.values():
            self._table.free(address, (MemoryType.DEVICE,))

    def function(self, module: int, name: str) -> int:
        """The handle of a kernel of a module."""
        found = self.modules.get(module)
        with self._lock:
            if name not in found.functions:
                kernel = _kernel(found.image, name)
                function = Function(kernel, found.image.architecture)
                found.functions[name] = self.functions.add(function)
            return found.functions[name]

    def variable(self, module: int, name: str) -> int:
        """The address of a variable of a module."""
        found = self.modules.get(module)
        with self._lock:
            if name not in found.variables:
                found.variables[name] = self._place(_variable(found.image, name), found.device)
            return found.variables[name]

    def kernel(self, function: int) -> tuple[Function, Kernel]:
        """What is known of a kernel; one that was only promised is compiled now."""
        found = self.functions.get(function)
        if found.kernel is None:
            assert found.resolve is not None
            content, name = found.resolve()  # may take long, and may raise: no lock is held
            image = self._read(content)
            found.architecture = image.architecture
            found.kernel = _kernel(image, name)
        return found, found.kernel

    def _read(self, content: bytes) -> Image:
        major, minor = self._devices.profile.compute_capability
        try:
            image = best_image(content, major * 10 + minor)
        except DamagedImage:
            fail_driver(DriverStatus.CUDA_ERROR_INVALID_IMAGE)
        if image is None:
            fail_driver(DriverStatus.CUDA_ERROR_NO_BINARY_FOR_GPU)
        return image

    def _place(self, variable: Variable, device: int) -> int:
        allocation = self._table.allocate(max(1, variable.size), MemoryType.DEVICE, device)
        if variable.content.strip(b"\0"):
            self._copies.write(allocation.base, variable.content)
        return allocation.base


def _kernel(image: Image, name: str) -> Kernel:
    if name in image.kernels:
        return image.kernels[name]
    if image.opaque:
        return Kernel(name, _OPAQUE_KERNEL_REGISTERS)
    raise driver_error(DriverStatus.CUDA_ERROR_NOT_FOUND)


def _variable(image: Image, name: str) -> Variable:
    if name in image.variables:
        return image.variables[name]
    if image.opaque:
        return Variable(_OPAQUE_VARIABLE_SIZE)
    raise driver_error(DriverStatus.CUDA_ERROR_NOT_FOUND)


def _invalid_handle() -> None:
    fail_driver(DriverStatus.CUDA_ERROR_INVALID_HANDLE)
