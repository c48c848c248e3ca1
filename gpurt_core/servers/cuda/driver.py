"""One CUDA device under a `DeviceServer`.

Kernels are compiled, and kept, as CuPy's own: a `RawModule` of the same source and options has the
same id. On the null device they are compiled and loaded, and launches do nothing.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

import cupy
from cupy._core import core
from cupy.cuda import compiler, function, runtime
from cupy_backends.cuda.api import driver
from numpy.typing import NDArray

from gpurt_core.adapters.cupy.artifact import CudaArtifact
from gpurt_core.adapters.cupy.compiler import CudaCompiler, CudaKernel
from gpurt_core.adapters.cupy.keys import KeyMaker
from gpurt_core.adapters.cupy.options import with_absolute_folders
from gpurt_core.adapters.cupy.request import KernelRequest
from gpurt_core.adapters.cupy.target import CudaTarget, LoadedModule
from gpurt_core.adapters.cupy.versions import require_supported
from gpurt_core.compilation import ArtifactStore
from gpurt_core.servers.arrays import ServerArray
from gpurt_core.servers.kernels import Dimensions, Kernel, Launch, as_text
from gpurt_core.servers.options import NoStore

_MILLISECOND = 1e-3
_REFUSALS = ("INVALID_VALUE", "LAUNCH_OUT_OF_RESOURCES", "INVALID_IMAGE", "NOT_FOUND")
"""Errors of a launch that never began; others are of the device, which may be lost."""


class CudaRun:
    """A launch that went out."""

    failure = None
    """CUDA does not say which launch failed: the stream does, when it is waited for."""

    def __init__(self, start: Any, end: Any) -> None:
        self._start = start
        self._end = end

    @property
    def seconds(self) -> float:
        """From its start on the device to its end; none where it was not timed."""
        if self._start is None:
            return 0.0
        return float(cupy.cuda.get_elapsed_time(self._start, self._end)) * _MILLISECOND


class CudaDriver:
    """A device, used through CuPy."""

    language = "cuda"

    def __init__(self, number: int, store: ArtifactStore | None) -> None:
        require_supported(cupy, compiler)
        self._number = number
        self._device = cupy.cuda.Device(number)
        self._keys = KeyMaker(compiler)
        with self._device:
            self._arch = compiler._get_arch()
        self.fingerprint = self._describe()
        self._labels: dict[str, str] = {}
        self._known: dict[Kernel, tuple[str, CudaKernel]] = {}
        self.target = CudaTarget(
            CudaCompiler(compiler), store or NoStore(), self._load_module, self._label_of
        )

    def _describe(self) -> str:
        properties = runtime.getDeviceProperties(self._number)
        major, minor = compiler._get_nvrtc_version()
        return (
            f"CUDA, {properties['name'].decode()}, sm_{self._arch}, "
            f"{properties['multiProcessorCount']} multiprocessors, "
            f"driver {runtime.driverGetVersion()}, NVRTC {major}.{minor}, CuPy {cupy.__version__}"
        )

    def _label_of(self, id: str) -> str:
        return self._labels.get(id, "a kernel")

    def _load_module(self, id: str, artifact: CudaArtifact) -> Any:
        module = function.Module()
        with self._device:
            module.load(artifact.image)
        return module

    def identify(self, kernel: Kernel) -> tuple[str, CudaKernel]:
        """Its id, and what is compiled; looked at anew where there are headers."""
        known = self._known.get(kernel)
        if known is None:
            options = (*core.assemble_cupy_compiler_options(kernel.options), "-ftz=true")
            request = KernelRequest(
                source=kernel.source(self.language),
                options=with_absolute_folders(options, os.getcwd()),
                arch=self._arch,
            )
            key = self._keys.key(request)
            known = key.id, CudaKernel(request, key)
            self._labels.setdefault(key.id, kernel.name)
            if not key.headers.findings:
                self._known[kernel] = known
        return known

    def open_stream(self) -> Any:
        """A stream that is ordered with CUDA's default one, on which memory is copied."""
        with self._device:
            return cupy.cuda.Stream()

    def wait(self, stream: Any) -> None:
        """Waits for the stream."""
        with self._device:
            stream.synchronize()

    def allocate(self, nbytes: int) -> Any:
        """Memory of CuPy's pool."""
        with self._device:
            return cupy.cuda.alloc(nbytes)

    def write(self, memory: Any, host: NDArray[Any], stream: Any) -> None:
        """Copies to memory."""
        with self._device:
            memory.copy_from_host(ctypes.c_void_p(host.ctypes.data), host.nbytes)

    def read(self, memory: Any, host: NDArray[Any], stream: Any) -> None:
        """Copies from memory."""
        with self._device:
            memory.copy_to_host(ctypes.c_void_p(host.ctypes.data), host.nbytes)

    def prepare(self, loaded: LoadedModule, launch: Launch) -> tuple[Any, Launch, tuple[Any, ...]]:
        """The function and its arguments. How many there must be, CUDA does not say."""
        try:
            function_ = loaded.module.get_function(loaded.name_of(launch.kernel.name))
        except driver.CUDADriverError as error:
            raise ValueError(
                f'its module has no function of this name: declare it extern "C" ({error})'
            ) from error
        self._check_block(launch.block)
        given = (a.memory if isinstance(a, ServerArray) else a for a in launch.args)
        return function_, launch, tuple(given)

    def _check_block(self, block: Dimensions) -> None:
        attributes = self._device.attributes
        most = attributes["MaxThreadsPerBlock"]
        sides = [attributes[f"MaxBlockDim{axis}"] for axis in "XYZ"]
        x, y, z = block
        if x * y * z > most or any(n > side for n, side in zip(block, sides, strict=True)):
            raise ValueError(
                f"a block of {as_text(block)} is too large: the most are {most} threads, "
                f"{as_text(sides)} in each dimension"
            )

    def run(
        self, prepared: tuple[Any, Launch, tuple[Any, ...]], stream: Any, *, timed: bool
    ) -> CudaRun:
        """Launches it, between two events where it is timed."""
        function_, launch, args = prepared
        with self._device:
            start, end = (cupy.cuda.Event(), cupy.cuda.Event()) if timed else (None, None)
            if start is not None:
                start.record(stream)
            function_(launch.grid, launch.block, args, stream=stream)
            if end is not None:
                end.record(stream)
        return CudaRun(start, end)

    def refuses(self, error: BaseException) -> bool:
        """Whether CUDA found the launch invalid, rather than its device broken."""
        text = str(error)
        is_cuda = isinstance(error, driver.CUDADriverError | runtime.CUDARuntimeError)
        return is_cuda and any(f"CUDA_ERROR_{name}:" in text for name in _REFUSALS)

    def close(self) -> None:
        """Forgets its kernels: the rest goes with the last array."""
        self._known.clear()
