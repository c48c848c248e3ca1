"""The null device: a stand-in for the CUDA runtime and driver under CuPy.

It takes the place of every function of `cupy_backends.cuda.api.runtime` and `.driver`, before any
other module of CuPy has taken a pointer to one. Arrays live in host memory that is only reserved,
copies are real, launches are dropped, and what CUDA refuses is refused with CuPy's own errors.
"""

from __future__ import annotations

import importlib
import mmap
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from gpurt_core.adapters.cupy.null_device import capsules, libraries, shim
from gpurt_core.adapters.cupy.null_device.allocation_functions import AllocationFunctions
from gpurt_core.adapters.cupy.null_device.array_functions import ArrayFunctions
from gpurt_core.adapters.cupy.null_device.arrays import CudaArrays
from gpurt_core.adapters.cupy.null_device.contexts import ContextFunctions
from gpurt_core.adapters.cupy.null_device.copies import Copies
from gpurt_core.adapters.cupy.null_device.copy_functions import CopyFunctions
from gpurt_core.adapters.cupy.null_device.devices import DeviceFunctions, Devices
from gpurt_core.adapters.cupy.null_device.events import EventFunctions
from gpurt_core.adapters.cupy.null_device.guard import HostGuard
from gpurt_core.adapters.cupy.null_device.memory import MemoryTable
from gpurt_core.adapters.cupy.null_device.module_functions import ModuleFunctions
from gpurt_core.adapters.cupy.null_device.modules import Function, Modules
from gpurt_core.adapters.cupy.null_device.pools import PoolFunctions
from gpurt_core.adapters.cupy.null_device.profiles import GIB, DeviceProfile
from gpurt_core.adapters.cupy.null_device.status import teach_driver_errors
from gpurt_core.adapters.cupy.null_device.stream_functions import StreamFunctions
from gpurt_core.adapters.cupy.null_device.streams import Streams
from gpurt_core.adapters.cupy.null_device.textures import TextureFunctions
from gpurt_core.adapters.cupy.null_device.unsupported import IpcFunctions, LinkFunctions
from gpurt_core.errors import NullDeviceUnavailable
from gpurt_core.execution import ReadMonitor

RUNTIME = "cupy_backends.cuda.api.runtime"
DRIVER = "cupy_backends.cuda.api.driver"

LEFT_ALONE = {
    RUNTIME: frozenset(
        {"check_status", "make_Extent", "make_PitchedPtr", "make_Pos", "runtimeGetVersion"}
        | {"_getCUDAMajorVersion"}
    ),
    DRIVER: frozenset({"get_build_version"}),
}
"""C functions that never reach a device. A function that is neither here nor replaced is new in
this CuPy: a test says so."""

_BOUND_BEFORE = ("cupy", "cupyx", "cupy_backends")
_BINDS_NOTHING = frozenset(
    {
        "cupy_backends",
        "cupy_backends.cuda",
        "cupy_backends.cuda._softlink",
        "cupy_backends.cuda.api",
        "cupy_backends.cuda.api._driver_enum",
        "cupy_backends.cuda.api._runtime_enum",
        "cupy_backends.cuda.libs",
        "cupy_backends.cuda.libs.nvrtc",  # takes pointers to functions that are left alone
        RUNTIME,
        DRIVER,
    }
)


_BURDEN = 2 * GIB
"""From this size on the process gives back what its pools keep: few suites ever get there."""


class NullDevice:
    """The null devices of this process. There is one set of them, for good."""

    _installed: ClassVar[NullDevice | None] = None

    def __init__(self, profiles: Sequence[DeviceProfile], runtime: ModuleType) -> None:
        """Use `install`."""
        self.profiles = tuple(profiles)
        """What each device is; the first is device 0."""
        self.reads = ReadMonitor()
        """What was read back."""
        self._devices = devices = Devices(self.profiles)
        self._table = MemoryTable([profile.memory for profile in self.profiles])
        copies = Copies(self._table, self.reads, HostGuard())
        streams = Streams(devices)
        arrays = CudaArrays(devices, self._table, copies)
        pools = PoolFunctions(devices, self._table, streams)
        self._modules = Modules(devices, self._table, copies)
        self._launching = ModuleFunctions(devices, self._modules, streams)
        self._runtime_functions = (
            DeviceFunctions(devices, self._table, runtime),
            AllocationFunctions(devices, self._table, pools, runtime),
            CopyFunctions(devices, copies, streams),
            pools,
            StreamFunctions(streams, self.reads),
            EventFunctions(devices, streams),
            ArrayFunctions(arrays, streams),
            TextureFunctions(arrays, self._table),
            IpcFunctions(),
        )
        self._driver_functions = (
            self._launching,
            ContextFunctions(devices, streams),
            LinkFunctions(),
        )

    @classmethod
    def install(cls, profiles: Sequence[DeviceProfile]) -> NullDevice:
        """Puts null devices of these profiles under CuPy, or returns those that are there.

        Raises `NullDeviceUnavailable` when other profiles are installed, or when CuPy is: it has
        taken its pointers by then.
        """
        if cls._installed is not None:
            if cls._installed.profiles != tuple(profiles):
                raise NullDeviceUnavailable("one with other devices is installed")
            return cls._installed
        if not profiles:
            raise NullDeviceUnavailable("no device was asked for")
        shim.require_supported()
        if RUNTIME in sys.modules:
            _require_unbound()
        return cls.install_now(profiles)

    @classmethod
    def install_now(cls, profiles: Sequence[DeviceProfile]) -> NullDevice:
        """`install` for a caller who knows that nobody has taken a pointer: the import hook."""
        runtime, driver = importlib.import_module(RUNTIME), importlib.import_module(DRIVER)
        device = cls(profiles, runtime)
        device._replace(runtime, driver)
        cls._installed = device
        libraries.watch(runtime.runtimeGetVersion() // 1000)
        return device

    @classmethod
    def current(cls) -> NullDevice | None:
        """The one that is installed."""
        return cls._installed

    def check_launch(
        self, function: int, grid: Sequence[int], block: Sequence[int], shared_mem: int
    ) -> None:
        """Raises what the driver would refuse of a launch's shape.

        `grid` counts blocks and `block` threads, in up to three dimensions; `shared_mem` is the
        dynamic shared memory of a block (bytes).
        """
        self._launching.check(function, grid, block, shared_mem)

    @property
    def absences(self) -> Sequence[str]:
        """What was asked for and cannot be had here, a line each: see `libraries`."""
        return libraries.absences

    def register_function(self, resolve: Callable[[], tuple[bytes, str]]) -> int:
        """A handle for a kernel that is not compiled yet.

        The driver calls `resolve` when it is first asked for something that only the compiled
        kernel knows: an attribute, its occupancy. It returns the image and the name in it; what
        it raises, the asking code raises.
        """
        return self._modules.functions.add(Function(None, 0, resolve))

    def release_function(self, handle: int) -> None:
        """Forgets a handle of `register_function`."""
        self._modules.functions.remove(handle)

    def load_module(self, image: bytes) -> int:
        """A module handle, as `moduleLoadData` gives it."""
        return self._modules.load(image)

    def free_unused(self) -> None:
        """Frees what CuPy's pools keep: what is allocated from here on holds zeros.

        A pool hands out again what other code has written, so that what is read of an array that no
        launch has written would depend on what ran before. On a GPU the pools may also fill the
        device; here that would be the host's memory.
        """
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()
        if _resident_bytes() > _BURDEN:
            cupy.get_default_pinned_memory_pool().free_all_blocks()

    def _replace(self, runtime: ModuleType, driver: ModuleType) -> None:
        teach_driver_errors(driver.CUDADriverError)
        native: dict[str, shim.Constant | shim.OneCall] = {
            "_ensure_context": shim.none_stub(),
            "getDevice": self._devices.number.reader,
        }
        capsules.replace_functions(runtime, _functions(self._runtime_functions), native)
        # Every launch comes here from CuPy's compiled code: it costs nothing, and its shape has
        # been looked at by `check_launch` where that might be refused.
        launching = {name: shim.none_stub() for name in ("launchKernel", "launchCooperativeKernel")}
        capsules.replace_functions(driver, _functions(self._driver_functions), launching)


def _resident_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * mmap.PAGESIZE


def _functions(groups: Sequence[object]) -> dict[str, Callable[..., Any]]:
    """The functions of CuPy's names that the groups offer."""
    return dict(_methods(groups))


def _methods(groups: Sequence[object]) -> Iterator[tuple[str, Callable[..., Any]]]:
    for group in groups:
        for name in vars(type(group)):
            method = getattr(group, name)
            if callable(method) and not name.startswith("__"):
                yield name, method


def _require_unbound() -> None:
    """Raises when a module of CuPy is loaded that may hold pointers to the real functions."""
    for name in sorted(sys.modules):
        if name.partition(".")[0] in _BOUND_BEFORE and name not in _BINDS_NOTHING:
            raise NullDeviceUnavailable(
                f"{name} has been imported already; import CuPy after it, or set "
                "GPURT_NULL_DEVICE and the startup folder (see startup_environment)"
            )
