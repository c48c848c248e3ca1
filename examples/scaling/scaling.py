"""A vector times a number: two ways of doing it, and a tuner that knows which is faster where.

x = device.array(values)
scale(device, x, 2.5)           # x is 2.5 times what it was
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from gpurt_core.servers import Kernel
from gpurt_core.tune import Rejected, Tunable, TunableSet, Tuner

if TYPE_CHECKING:
    from gpurt_core.servers import Server, ServerArray

BLOCK = 64

SCALAR = Kernel(
    "scale",
    opencl="""
    __kernel void scale(__global float *x, const float factor, const int n) {
        int i = get_global_id(0);
        if (i < n) x[i] *= factor;
    }
    """,
    cuda="""
    extern "C" __global__ void scale(float *x, const float factor, const int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) x[i] *= factor;
    }
    """,
)
"""One number for each thread."""

VECTOR4 = Kernel(
    "scale4",
    opencl="""
    __kernel void scale4(__global float4 *x, const float factor, const int n) {
        int i = get_global_id(0);
        if (i < n) x[i] *= factor;
    }
    """,
    cuda="""
    extern "C" __global__ void scale4(float4 *x, const float factor, const int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) {
            float4 v = x[i];
            x[i] = make_float4(v.x * factor, v.y * factor, v.z * factor, v.w * factor);
        }
    }
    """,
)
"""Four numbers for each thread."""


def _launch(device: Server, kernel: Kernel, x: ServerArray, factor: float, threads: int) -> None:
    grid = -(-threads // BLOCK)
    device.launch(kernel, grid, BLOCK, (x, numpy.float32(factor), numpy.int32(threads)))


def one_by_one(device: Server, x: ServerArray, factor: float) -> None:
    """For every vector."""
    _launch(device, SCALAR, x, factor, x.size)


def four_by_four(device: Server, x: ServerArray, factor: float) -> None:
    """For vectors of a multiple of four."""
    if x.size % 4:
        raise Rejected(f"{x.size} numbers are not a multiple of four")
    _launch(device, VECTOR4, x, factor, x.size // 4)


def _key(device: Server, x: ServerArray, factor: float) -> Any:
    return "scale", x.size, factor


def _something_to_scale(device: Server, x: ServerArray, factor: float) -> Any:
    """A measurement runs often: not on the user's numbers."""
    return device, device.array(numpy.ones(x.size, numpy.float32)), factor


WAYS = TunableSet(
    key=_key,
    candidates=[
        Tunable("one by one", one_by_one, sources=[str(SCALAR)]),
        Tunable("four by four", four_by_four, sources=[str(VECTOR4)]),
    ],
    inputs=_something_to_scale,
)

_tuner = Tuner("scale")


def scale(device: Server, x: ServerArray, factor: float) -> None:
    """Multiplies a vector of single-precision numbers, in place, in the fastest way known."""
    _tuner.execute(WAYS, device, x, factor, stream=device.default_stream)
