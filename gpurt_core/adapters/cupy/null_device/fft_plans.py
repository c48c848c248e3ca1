"""cuFFT's plans without a device: they know their shapes, and transform nothing.

CuPy's plans call cuFFT from compiled code, and it finds no device. These take their places where
the library is installed; they check what CuPy checks, and leave outputs as they were. The plans
that `cupy.fft.config.set_cufft_callbacks` makes in advance are plain numbers.
"""

from __future__ import annotations

import itertools
import math
from types import ModuleType
from typing import Any

import numpy

from gpurt_core.adapters.cupy.null_device.host_results import record_read

_SINGLE = frozenset({"CUFFT_C2C", "CUFFT_R2C", "CUFFT_C2R"})
_TO_COMPLEX = frozenset({"CUFFT_R2C", "CUFFT_D2Z"})
_TO_REAL = frozenset({"CUFFT_C2R", "CUFFT_Z2D"})

_INERT = (
    *("setAutoAllocation", "setJITCallback", "XtExec", "multi_gpu_execC2C", "multi_gpu_execZ2Z"),
    *("execC2C", "execR2C", "execC2R", "execZ2Z", "execD2Z", "execZ2D"),
)
"""Functions that take the handle of a plan, and return nothing that anybody looks at."""


def take_places(cufft: ModuleType) -> None:
    """Puts the stand-ins into `cupy.cuda.cufft`."""
    names = {
        getattr(cufft, name): name for name in (*_SINGLE, "CUFFT_Z2Z", "CUFFT_D2Z", "CUFFT_Z2D")
    }
    cufft.__dict__["Plan1d"] = _plan_1d(cufft.Plan1d, names)
    cufft.__dict__["PlanNd"] = _plan_nd(cufft.PlanNd, names)
    cufft.__dict__["XtPlanNd"] = _xt_plan_nd(cufft.XtPlanNd)
    handles = itertools.count(1)
    cufft.__dict__["create"] = lambda: next(handles)
    for name in _INERT:
        cufft.__dict__[name] = lambda *_arguments: 0


def _work_areas(gpus: list[int], size: int) -> list[Any]:
    """One on each device, for its share of `size` bytes."""
    import cupy

    areas = []
    for gpu in gpus:
        with cupy.cuda.Device(gpu):
            areas.append(cupy.cuda.alloc(-(-size // len(gpus))))
    return areas


def _nothing_allocated() -> Any:
    import cupy

    return cupy.cuda.memory.MemoryPointer(cupy.cuda.memory.Memory(0), 0)


def _dtype(kind: str) -> Any:
    if kind in _TO_REAL:
        return numpy.dtype(numpy.float32 if kind in _SINGLE else numpy.float64)
    return numpy.dtype(numpy.complex64 if kind in _SINGLE else numpy.complex128)


class _Plan:
    """What all plans have in common. Their own attributes hide those of CuPy's compiled classes."""

    handle = 0
    work_area: Any = None
    gpus: Any = None
    fft_type = 0

    def fft(self, a: Any, out: Any, direction: int) -> None:
        """Transforms nothing. CuPy takes NumPy's arrays, too, if there are several devices."""
        if isinstance(out, numpy.ndarray):
            record_read()

    def get_output_array(self, a: Any, order: str = "C") -> Any:
        """An array for the result."""
        import cupy

        shape, dtype = self._output_dtype_and_shape(a)
        return cupy.empty(shape, dtype, order=order)

    def _output_dtype_and_shape(self, a: Any) -> tuple[tuple[int, ...], Any]:
        raise NotImplementedError


def _plan_1d(base: Any, names: dict[int, str]) -> Any:
    class Plan1d(_Plan, base):  # type: ignore[misc]
        """Transforms of one axis."""

        nx = 0
        batch = 0

        def __init__(
            self,
            nx: int,
            fft_type: int,
            batch: int,
            *,
            devices: Any = None,
            out: Any = None,
            prealloc_plan: int = 0,
        ) -> None:
            # Not super().__init__(): that asks cuFFT.
            self.nx, self.fft_type, self.batch = nx, fft_type, batch
            self.work_area = _nothing_allocated()
            if devices is not None:
                self.gpus = list(range(devices) if isinstance(devices, int) else devices)
                size = nx * batch * _dtype(names[fft_type]).itemsize
                self.work_area = _work_areas(self.gpus, size)

        def _output_dtype_and_shape(self, a: Any) -> tuple[tuple[int, ...], Any]:
            kind, shape = names[self.fft_type], list(a.shape)
            if kind in _TO_COMPLEX:
                shape[-1] = shape[-1] // 2 + 1
            elif kind in _TO_REAL:
                shape[-1] = self.nx
            return tuple(shape), _dtype(kind)

        def check_output_array(self, a: Any, out: Any) -> None:
            """Raises `ValueError` for an array that cannot take the result."""
            shape, dtype = self._output_dtype_and_shape(a)
            if out.shape != shape:
                raise ValueError(f"out must have shape {shape}.")
            if out.dtype != dtype:
                raise ValueError(f"out dtype mismatch: found {out.dtype}, expected {dtype}")

    return Plan1d


def _plan_nd(base: Any, names: dict[int, str]) -> Any:
    class PlanNd(_Plan, base):  # type: ignore[misc]
        """Transforms of several axes."""

        shape: Any = ()
        order = "C"
        last_axis = 0
        last_size: Any = None

        def __init__(
            self,
            shape: Any,
            inembed: Any,
            istride: int,
            idist: int,
            onembed: Any,
            ostride: int,
            odist: int,
            fft_type: int,
            batch: int,
            order: str,
            last_axis: int,
            last_size: Any,
            *,
            prealloc_plan: int = 0,
        ) -> None:
            # Not super().__init__(): that asks cuFFT.
            self.shape, self.fft_type, self.order = tuple(shape), fft_type, order
            self.last_axis, self.last_size = last_axis, last_size
            self.work_area = _nothing_allocated()

        def _output_dtype_and_shape(self, a: Any) -> tuple[tuple[int, ...], Any]:
            kind, shape = names[self.fft_type], list(a.shape)
            if kind in _TO_COMPLEX | _TO_REAL:
                shape[self.last_axis] = self.last_size
            return tuple(shape), _dtype(kind)

        def check_output_array(self, a: Any, out: Any) -> None:
            """Raises `ValueError` for an array that cannot take the result."""
            if out is a:
                return
            shape, dtype = self._output_dtype_and_shape(a)
            if out.shape != shape:
                raise ValueError("output shape mismatch")
            if out.dtype != dtype:
                raise ValueError("output dtype mismatch")
            same_order = out.flags.f_contiguous == a.flags.f_contiguous
            if not (same_order and out.flags.c_contiguous == a.flags.c_contiguous):
                raise ValueError("output contiguity mismatch")

    return PlanNd


def _xt_plan_nd(base: Any) -> Any:
    class XtPlanNd(_Plan, base):  # type: ignore[misc]
        """Transforms of several axes, of any types that cuFFT combines."""

        shape: Any = ()
        order = "C"
        last_axis = 0
        last_size: Any = None
        itype = otype = etype = 0

        def __init__(
            self,
            shape: Any,
            inembed: Any,
            istride: int,
            idist: int,
            idtype: Any,
            onembed: Any,
            ostride: int,
            odist: int,
            odtype: Any,
            batch: int,
            edtype: Any,
            *,
            order: str,
            last_axis: int,
            last_size: Any,
            prealloc_plan: int = 0,
        ) -> None:
            # Not super().__init__(): that asks cuFFT.
            from cupy._core._dtype import to_cuda_dtype

            types = [to_cuda_dtype(dtype, True) for dtype in (idtype, odtype, edtype)]
            length = shape[-1] if last_size is None else last_size
            try:
                self._sanity_checks(*types, length, math.prod(shape))
            except AssertionError:
                raise ValueError("input/output/execution types mismatch") from None
            self.itype, self.otype, self.etype = types
            self.shape, self.order = tuple(shape), order
            self.last_axis, self.last_size = last_axis, last_size
            self.work_area = _nothing_allocated()

        def _output_dtype_and_shape(self, a: Any) -> tuple[tuple[int, ...], Any]:
            shape = list(a.shape)
            if self.itype != self.otype:
                shape[self.last_axis] = self.last_size
            return tuple(shape), _dtype_of_cuda(self.otype)

    return XtPlanNd


def _dtype_of_cuda(number: int) -> Any:
    from cupy.cuda import runtime

    dtypes = {
        runtime.CUDA_C_32F: numpy.complex64,
        runtime.CUDA_C_64F: numpy.complex128,
        runtime.CUDA_R_16F: numpy.float16,
        runtime.CUDA_R_32F: numpy.float32,
        runtime.CUDA_R_64F: numpy.float64,
    }
    if number not in dtypes:
        raise NotImplementedError("an output array of complex32 has to be allocated by the caller")
    return dtypes[number]
