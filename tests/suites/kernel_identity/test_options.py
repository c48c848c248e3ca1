"""Options of the compiler: which, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy
import pytest

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics

SOURCE = """
#ifndef W
#define W 0
#endif
extern "C" __global__ void options(float* x) { x[0] = W / 3.0f + sinf(x[1]); }
"""


def launch(*options: str) -> None:
    """The kernel, launched."""
    cupy.RawKernel(SOURCE, "options", options)((1,), (1,), (cupy.zeros(2, cupy.float32),))


@pytest.mark.parametrize(
    ("first", "second", "kernels"),
    [
        (("-DW=1",), ("-DW=1",), 1),
        (("-DW=1",), ("-DW=2",), 2),
        (("-DW=1", "-DW=2"), ("-DW=2", "-DW=1"), 2),
        (("--use_fast_math",), (), 2),
        (("--fmad=false",), ("--fmad=true",), 2),
        (("-lineinfo",), (), 2),
        (("--std=c++17",), ("--std=c++20",), 2),
        (("-DW=1", "-lineinfo"), ("-lineinfo", "-DW=1"), 2),
    ],
    ids=["same", "value", "repeated", "math", "fmad", "lines", "language", "order"],
)
def test_options_and_their_order_make_kernels(
    gpu_stats: GpuStatistics, first: tuple[str, ...], second: tuple[str, ...], kernels: int
) -> None:
    launch(*first)
    launch(*second)
    gpu_stats.expect(obtained=kernels)


def test_options_of_an_elementwise_kernel(gpu_stats: GpuStatistics) -> None:
    for options in ((), ("--use_fast_math",)):
        sine = cupy.ElementwiseKernel("T x", "T y", "y = sin(x)", "sine", options=options)
        sine(cupy.zeros(4, cupy.float32))
    gpu_stats.expect(obtained=2)
