"""Kernels that users write: elementwise, reduction, raw, modules, `cupyx.jit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import numpy as np
import pytest
from cupyx import jit

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics

MODULE = """
extern "C" {
__constant__ float factor[4];
__device__ int launches = 0;
__global__ void scale(float* x) { x[threadIdx.x] *= factor[threadIdx.x & 3]; }
__global__ void shift(float* x) { x[threadIdx.x] += 1.0f; atomicAdd(&launches, 1); }
}
"""
TEMPLATE = "template<typename T, int N> __global__ void fill(T* x) { x[threadIdx.x] = N; }"
COOPERATIVE = """
#include <cooperative_groups.h>
extern "C" __global__ void meet(float* x) {
    cooperative_groups::this_grid().sync();
    x[blockIdx.x] = 1.0f;
}
"""


@pytest.fixture
def values() -> Any:
    """Zeroed numbers: no kernel."""
    return cupy.zeros(32, cupy.float32)


def test_an_elementwise_kernel(gpu_stats: GpuStatistics, values: Any) -> None:
    kernel = cupy.ElementwiseKernel("T x, T y", "T z", "z = x * y + i", "indexed_product")
    assert kernel(values, values).shape == (32,)
    gpu_stats.expect(obtained=1)


def test_an_elementwise_kernel_has_one_for_each_type(gpu_stats: GpuStatistics) -> None:
    kernel = cupy.ElementwiseKernel("T x", "T y", "y = -x", "negated")
    for dtype in ("int32", "float32", "float64"):
        kernel(cupy.zeros(8, dtype))
    gpu_stats.expect(obtained=3)


def test_an_elementwise_kernel_with_raw_arguments(gpu_stats: GpuStatistics, values: Any) -> None:
    kernel = cupy.ElementwiseKernel(
        "raw T x, int32 n",
        "T y",
        "y = x[n - 1 - i]",
        "reversed",
        preamble="// one line of preamble",
    )
    assert kernel(values, 32, size=32).shape == (32,)
    gpu_stats.expect(obtained=1)


def test_a_reduction_kernel(gpu_stats: GpuStatistics, values: Any) -> None:
    kernel = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm2")
    assert kernel(values).shape == ()
    gpu_stats.expect(obtained=1)


def test_a_reduction_kernel_over_so_many_axes(gpu_stats: GpuStatistics) -> None:
    kernel = cupy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "plain_sum")
    cube = cupy.zeros((4, 4, 4), cupy.float32)
    assert kernel(cube, axis=(0, 2), keepdims=True).shape == (1, 4, 1)
    assert kernel(cube, axis=1).shape == (4, 4)
    gpu_stats.expect(obtained=1)  # both have the same number of axes inside


@pytest.mark.parametrize("language", ["c++11", "c++17"])
def test_a_raw_kernel_with_options(gpu_stats: GpuStatistics, values: Any, language: str) -> None:
    source = 'extern "C" __global__ void doubled(float* x) { x[threadIdx.x] *= FACTOR; }'
    kernel = cupy.RawKernel(source, "doubled", (f"--std={language}", "-DFACTOR=2.0f"))
    kernel((1,), (32,), (values,))
    gpu_stats.expect(obtained=1)


def test_a_raw_kernel_with_arguments_of_every_kind(gpu_stats: GpuStatistics, values: Any) -> None:
    source = """
    struct Range { int first; float width; };
    extern "C" __global__ void kinds(float* x, int n, double d, bool b, Range r, complex<float> c)
    { x[0] = n + d + b + r.first + r.width + c.real(); }
    """
    kernel = cupy.RawKernel("#include <cupy/complex.cuh>\n" + source, "kinds")
    record = np.zeros((), "i4, f4")
    kernel((1,), (1,), (values, np.int32(1), 2.0, True, record, np.complex64(1j)))
    gpu_stats.expect(obtained=1)


def test_two_functions_of_a_module_are_one_kernel(gpu_stats: GpuStatistics, values: Any) -> None:
    module = cupy.RawModule(code=MODULE)
    for name in ("scale", "shift"):
        module.get_function(name)((1,), (32,), (values,))
    gpu_stats.expect(obtained=1)


def test_name_expressions_of_a_module_are_one_kernel(gpu_stats: GpuStatistics) -> None:
    names = ("fill<int, 3>", "fill<float, 4>", "fill<double,5>")
    module = cupy.RawModule(code=TEMPLATE, name_expressions=names)
    for name, dtype in zip(names, "ifd", strict=True):
        module.get_function(name)((1,), (32,), (cupy.zeros(32, dtype),))
    gpu_stats.expect(obtained=1)


def test_a_name_expression_that_was_not_asked_for_is_an_error(gpu_stats: GpuStatistics) -> None:
    module = cupy.RawModule(code=TEMPLATE, name_expressions=("fill<int, 3>",))
    with pytest.raises(cupy.cuda.driver.CUDADriverError, match="NOT_FOUND"):
        module.get_function("fill<int, 4>")
    gpu_stats.expect(obtained=1)


def test_variables_of_a_module(gpu_stats: GpuStatistics) -> None:
    module = cupy.RawModule(code=MODULE)
    factor = cupy.ndarray(4, cupy.float32, module.get_global("factor"))
    factor.set(np.ones(4, np.float32))
    assert module.get_global("launches").ptr != factor.data.ptr
    gpu_stats.expect(obtained=1)


def test_attributes_of_a_kernel_are_real(gpu_stats: GpuStatistics) -> None:
    source = """
    extern "C" __global__ void shared(float* x) {
        __shared__ float part[256];
        part[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        x[threadIdx.x] = part[255 - threadIdx.x];
    }
    """
    kernel = cupy.RawKernel(source, "shared")
    assert kernel.num_regs > 0
    assert kernel.shared_size_bytes == 1024
    assert kernel.binary_version == 80
    assert kernel.max_threads_per_block == 1024
    kernel.max_dynamic_shared_size_bytes = 65536
    assert kernel.attributes["max_dynamic_shared_size_bytes"] == 65536
    gpu_stats.expect(obtained=1)


def test_a_cooperative_launch(gpu_stats: GpuStatistics, values: Any) -> None:
    kernel = cupy.RawKernel(COOPERATIVE, "meet", enable_cooperative_groups=True)
    kernel((4,), (32,), (values,))
    gpu_stats.expect(obtained=1)


def test_a_jit_kernel_is_launched_in_both_ways(gpu_stats: GpuStatistics, values: Any) -> None:
    @jit.rawkernel()  # type: ignore[untyped-decorator]
    def copied(x: Any, y: Any, size: Any) -> None:
        for i in range(jit.grid(1), size, jit.gridsize(1)):
            y[i] = x[i]

    copied((1,), (32,), (values, values, np.uint32(32)))
    copied[1, 32](values, values, np.uint32(32))
    gpu_stats.expect(obtained=1)


def test_a_jit_kernel_with_shared_memory(gpu_stats: GpuStatistics, values: Any) -> None:
    @jit.rawkernel()  # type: ignore[untyped-decorator]
    def reversed_block(x: Any) -> None:
        block = jit.shared_memory(cupy.float32, 32)
        block[jit.threadIdx.x] = x[jit.threadIdx.x]
        jit.syncthreads()
        x[jit.threadIdx.x] = block[31 - jit.threadIdx.x]

    reversed_block((1,), (32,), (values,))
    gpu_stats.expect(obtained=1)
