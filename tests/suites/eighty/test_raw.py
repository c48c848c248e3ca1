"""Sixteen kernels in CUDA C++: each pattern of memory access with each operation."""

from __future__ import annotations

from typing import Any

import cupy
import pytest

PATTERNS = {
    "grid_stride": """
        int step = gridDim.x * blockDim.x;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
            out[i] = OPERATION(in[i], 0.5f);
    """,
    "stencil": """
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        float left = in[i > 0 ? i - 1 : 0], right = in[i < n - 1 ? i + 1 : n - 1];
        out[i] = OPERATION(OPERATION(left, in[i]), right);
    """,
    "block_reduction": """
        __shared__ float part[128];
        int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
        part[t] = in[i];  // n is a multiple of the block's size
        __syncthreads();
        for (int half = 64; half > 0; half >>= 1) {
            if (t < half) part[t] = OPERATION(part[t], part[t + half]);
            __syncthreads();
        }
        if (t == 0) out[blockIdx.x] = part[0];
    """,
    "warp_scan": """
        int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
        float value = i < n ? in[i] : 0.0f;
        for (int step = 1; step < 32; step <<= 1) {
            float other = __shfl_up_sync(0xffffffffu, value, step);
            if (lane >= step) value = OPERATION(value, other);
        }
        if (i < n) out[i] = value;
    """,
}
OPERATIONS = {
    "plus": "((a) + (b))",
    "times": "((a) * (b))",
    "larger": "fmaxf((a), (b))",
    "smaller": "fminf((a), (b))",
}


def raw_kernel(pattern: str, operation: str) -> Any:
    """One of the kernels; it takes the input, the output, and their length."""
    name = f"{pattern}_{operation}"
    source = f"""
    #define OPERATION(a, b) {OPERATIONS[operation]}
    extern "C" __global__ void {name}(const float* in, float* out, int n) {{
        {PATTERNS[pattern]}
    }}
    """
    return cupy.RawKernel(source, name)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_raw_kernel_is_launched(
    pattern: str, operation: str, values: Any, other_values: Any
) -> None:
    kernel = raw_kernel(pattern, operation)
    kernel((values.size // 128,), (128,), (values, other_values, cupy.int32(values.size)))
    assert other_values.shape == values.shape
