"""What reaches CUDA past the runtime and driver modules of CuPy.

- cuFFT: see `fft_plans`.
- cuBLAS, cuSOLVER, cuSPARSE, cuRAND: where the library is installed, its binding is made to do
  nothing, see `bindings` and `batched_solvers`. Where it is not, the error says in one line which
  package brings it.
- Thrust (sort, argsort, lexsort): C++ that calls CUDA itself. It checks its arguments, finds no
  device, and raises; that last part is dropped.
- CUB (device-wide reductions and scans), the kernels of `cupy.random.Generator`: C++, too, that
  finds no device and does not tell. Nothing is needed.
- NVRTC looks for a driver when it compiles, and works without one.
- jitify asks CUDA for the architecture before it does anything: `NotOnNullDevice`.

All of that finds no device on a machine without one. Where there is one it must not be found:
`hide_devices`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from gpurt_core.adapters.cupy.early import when_imported
from gpurt_core.adapters.cupy.null_device import batched_solvers, bindings
from gpurt_core.errors import NotOnNullDevice

_LIBRARIES = {
    "cublas": "nvidia-cublas",
    "cusolver": "nvidia-cusolver",
    "cusparse": "nvidia-cusparse",
    "curand": "nvidia-curand",
    "cufft": "nvidia-cufft",
    "nvrtc": "nvidia-cuda-nvrtc",
}
"""Bindings of CuPy, and the package of NVIDIA that brings each library for CUDA 13."""

absences: list[str] = []
"""What was asked for in this process and is not there, in order: a line each, with a remedy. Code
may swallow the error, or wrap it in another."""

_DEVICE_FILES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/nvhost-gpu", "/dev/nvgpu")
"""One of these is there where there is a driver: Linux, WSL, Jetson."""


def watch(cuda_major: int) -> None:
    """Prepares the modules of CuPy that call CUDA themselves, each when it is imported."""
    hide_devices()
    for name in bindings.INERT:
        when_imported(f"cupy_backends.cuda.libs.{name}", bindings.make_inert)
    when_imported("cuda.pathfinder", lambda module: _explain_missing(module, cuda_major))
    when_imported("cupy.cuda.thrust", _forgive_thrust)
    when_imported("cupy.cuda.cufft", _replace_plans)
    when_imported("cupyx._cusolver", batched_solvers.take_places)
    when_imported("cupy.cuda.jitify", _refuse_jitify)
    when_imported("cupy._environment", _note_missing_nvcc)
    when_imported("numba.cuda.cudadrv.error", _note_numba)


def hide_devices() -> None:
    """Keeps C++ that nobody can intercept away from a real GPU, in this process and its children.

    CUDA looks at the variable when it is first used, which on the null device it never was. On a
    machine without a driver nothing is changed.
    """
    if any(Path(file).exists() for file in _DEVICE_FILES):
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"


def _explain_missing(pathfinder: ModuleType, cuda_major: int) -> None:
    """CuPy looks for a library here, and passes on what this says when there is none: one line
    with a remedy instead of fifteen of folders."""
    original: Callable[[str], Any] = pathfinder.load_nvidia_dynamic_lib

    def load_nvidia_dynamic_lib(libname: str) -> Any:
        try:
            return original(libname)
        except pathfinder.DynamicLibNotFoundError:
            package = _LIBRARIES.get(libname)
            if package is None:
                raise
            suffix = "" if cuda_major >= 13 else f"-cu{cuda_major}"
            reason = (
                f"{libname}, a library of CUDA, is not installed: pip install {package}{suffix}"
            )
            absences.append(reason)
            raise pathfinder.DynamicLibNotFoundError(reason) from None

    pathfinder.__dict__["load_nvidia_dynamic_lib"] = load_nvidia_dynamic_lib


def _forgive_thrust(module: ModuleType) -> None:
    for name in ("sort", "argsort", "lexsort"):
        setattr(module, name, _without_cuda_errors(getattr(module, name)))


def _without_cuda_errors(function: Callable[..., None]) -> Callable[..., None]:
    def checked(*arguments: Any) -> None:
        try:
            function(*arguments)
        except RuntimeError as error:
            if "cudaError" not in str(error):
                raise

    return checked


def _replace_plans(module: ModuleType) -> None:
    from gpurt_core.adapters.cupy.null_device import fft_plans

    fft_plans.take_places(module)


def _note_numba(module: ModuleType) -> None:
    """Numba's own kernels go to the driver by a way of their own."""
    original = module.CudaSupportError.__init__

    def noting(self: BaseException, *arguments: Any) -> None:
        absences.append("numba.cuda needs a GPU, and this machine has none that it may use")
        original(self, *arguments)

    module.CudaSupportError.__init__ = noting


def _note_missing_nvcc(module: ModuleType) -> None:
    """CuPy looks nvcc up each time, and fails on what it does not find in a way of its own."""
    original: Callable[[], str | None] = module.get_nvcc_path

    def get_nvcc_path() -> str | None:
        path = original()
        if path is None:
            absences.append("nvcc, a tool of CUDA, is not installed: it comes with the toolkit")
        return path

    module.__dict__["get_nvcc_path"] = get_nvcc_path


def _refuse_jitify(module: ModuleType) -> None:
    original: Callable[[], None] = module._init_module

    def _init_module() -> None:
        """Works where an earlier run on a GPU left jitify's cache."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it announces what it does not come to do
                original()
        except RuntimeError as error:
            refusal = NotOnNullDevice("jitify=True", "compile without it (CuPy 15 has it no more)")
            absences.append(str(refusal))
            raise refusal from error

    module.__dict__["_init_module"] = _init_module
