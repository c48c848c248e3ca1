"""The driver's functions for modules, kernels and launches, as CuPy calls them."""

from __future__ import annotations

from collections.abc import Sequence

from gpurt_core.adapters.cupy.null_device import occupancy
from gpurt_core.adapters.cupy.null_device.devices import Devices
from gpurt_core.adapters.cupy.null_device.images import Kernel
from gpurt_core.adapters.cupy.null_device.modules import Function, Modules
from gpurt_core.adapters.cupy.null_device.status import DriverStatus, fail_driver
from gpurt_core.adapters.cupy.null_device.streams import Streams

# CUfunction_attribute
_MAX_THREADS, _SHARED, _CONSTANT, _LOCAL, _REGISTERS, _PTX_VERSION, _BINARY_VERSION = range(7)
_CACHE_MODE, _MAX_DYNAMIC_SHARED, _CARVEOUT = 7, 8, 9
_SETTABLE = (_MAX_DYNAMIC_SHARED, _CARVEOUT)
_DEFAULT_CARVEOUT = -1

_MAX_GRID = (2**31 - 1, 65535, 65535)
_MAX_BLOCK = (1024, 1024, 64)
_MAX_BLOCK_THREADS = 1024


class ModuleFunctions:
    """Modules, functions, occupancy and launches."""

    def __init__(self, devices: Devices, modules: Modules, streams: Streams) -> None:
        self._devices = devices
        self._modules = modules
        self._streams = streams

    def moduleLoad(self, filename: str) -> int:
        return self._modules.load_file(filename)

    def moduleLoadData(self, image: bytes) -> int:
        return self._modules.load(image)

    def moduleUnload(self, module: int) -> None:
        self._modules.unload(module)

    def moduleGetFunction(self, module: int, funcname: str) -> int:
        return self._modules.function(module, funcname)

    def moduleGetGlobal(self, module: int, varname: str) -> int:
        return self._modules.variable(module, varname)

    def funcGetAttribute(self, attribute: int, f: int) -> int:
        function, kernel = self._modules.kernel(f)
        values = {
            _MAX_THREADS: occupancy.max_threads(kernel, self._devices.profile),
            _SHARED: kernel.shared_size,
            _CONSTANT: kernel.constant_size,
            _LOCAL: kernel.local_size,
            _REGISTERS: kernel.registers,
            _PTX_VERSION: function.architecture,
            _BINARY_VERSION: function.architecture,
            _CACHE_MODE: 0,
            _MAX_DYNAMIC_SHARED: function.settings.get(
                _MAX_DYNAMIC_SHARED, self._dynamic_shared_limit(function, kernel)
            ),
            _CARVEOUT: function.settings.get(_CARVEOUT, _DEFAULT_CARVEOUT),
        }
        return values.get(attribute, -1)  # CuPy answers -1 for what this CUDA does not know

    def funcSetAttribute(self, f: int, attribute: int, value: int) -> None:
        function, kernel = self._modules.kernel(f)
        limit = self._devices.profile.shared_per_block_optin - kernel.shared_size
        valid = {_MAX_DYNAMIC_SHARED: 0 <= value <= limit, _CARVEOUT: -1 <= value <= 100}
        if not valid.get(attribute, False):
            fail_driver(DriverStatus.CUDA_ERROR_INVALID_VALUE)
        function.settings[attribute] = value

    def occupancyMaxActiveBlocksPerMultiprocessor(
        self, func: int, blockSize: int, dynamicSMemSize: int
    ) -> int:
        _, kernel = self._modules.kernel(func)
        if blockSize <= 0:
            fail_driver(DriverStatus.CUDA_ERROR_INVALID_VALUE)
        return occupancy.active_blocks(kernel, self._devices.profile, blockSize, dynamicSMemSize)

    def occupancyMaxPotentialBlockSize(
        self, func: int, dynamicSMemSize: int, blockSizeLimit: int
    ) -> tuple[int, int]:
        _, kernel = self._modules.kernel(func)
        return occupancy.best_block_size(
            kernel, self._devices.profile, dynamicSMemSize, blockSizeLimit
        )

    def launchKernel(
        self,
        f: int,
        grid_dim_x: int,
        grid_dim_y: int,
        grid_dim_z: int,
        block_dim_x: int,
        block_dim_y: int,
        block_dim_z: int,
        shared_mem_bytes: int,
        stream: int,
        kernel_params: int,
        extra: int,
    ) -> None:
        """Looks at everything but the arguments, and drops it."""
        self._streams.check(stream)
        grid = (grid_dim_x, grid_dim_y, grid_dim_z)
        block = (block_dim_x, block_dim_y, block_dim_z)
        if min(grid) < 1 or min(block) < 1:
            fail_driver(DriverStatus.CUDA_ERROR_INVALID_VALUE)
        self.check(f, grid, block, shared_mem_bytes)

    def launchCooperativeKernel(
        self,
        f: int,
        grid_dim_x: int,
        grid_dim_y: int,
        grid_dim_z: int,
        block_dim_x: int,
        block_dim_y: int,
        block_dim_z: int,
        shared_mem_bytes: int,
        stream: int,
        kernel_params: int,
    ) -> None:
        self.launchKernel(
            f,
            grid_dim_x,
            grid_dim_y,
            grid_dim_z,
            block_dim_x,
            block_dim_y,
            block_dim_z,
            shared_mem_bytes,
            stream,
            kernel_params,
            0,
        )

    def check(
        self, f: int, grid: Sequence[int], block: Sequence[int], shared_mem_bytes: int
    ) -> None:
        """What `launchKernel` refuses; missing, zero and negative dimensions are 1, as CuPy makes
        them."""
        function = self._modules.functions.get(f)
        threads = 1
        for size, limit in zip(block, _MAX_BLOCK, strict=False):
            if size > limit:
                fail_driver(DriverStatus.CUDA_ERROR_INVALID_VALUE)
            if size > 1:
                threads *= size
        for size, limit in zip(grid, _MAX_GRID, strict=False):
            if size > limit:
                fail_driver(DriverStatus.CUDA_ERROR_INVALID_VALUE)
        if threads > _MAX_BLOCK_THREADS:
            fail_driver(DriverStatus.CUDA_ERROR_INVALID_VALUE)
        self._require_resources(f, function, threads, shared_mem_bytes)

    def _require_resources(self, f: int, function: Function, threads: int, shared: int) -> None:
        """Refuses what the kernel has no room for. One that is not compiled yet stays so."""
        if function.kernel is None:
            if shared <= self._devices.profile.shared_per_block:
                return  # what else it needs is not known, and not worth compiling it for
            self._modules.kernel(f)
        assert function.kernel is not None
        if shared > self._dynamic_shared_limit(function, function.kernel):
            fail_driver(DriverStatus.CUDA_ERROR_INVALID_VALUE)
        if threads > occupancy.max_threads(function.kernel, self._devices.profile):
            fail_driver(DriverStatus.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)

    def _dynamic_shared_limit(self, function: Function, kernel: Kernel) -> int:
        default = self._devices.profile.shared_per_block - kernel.shared_size
        return max(default, function.settings.get(_MAX_DYNAMIC_SHARED, default))
