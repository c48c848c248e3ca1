"""Histograms of pixels of several types, by one template."""

from __future__ import annotations

import cupy
import numpy as np

_C_NAMES = {"uint8": "unsigned char", "uint16": "unsigned short", "float32": "float"}
_THREADS = 256
_MOST_BLOCKS = 512
_MOST_BINS = 8192
"""They are counted in shared memory: 48 KiB hold 12288."""

# Each block counts in its own shared memory, so that threads of others never wait for it.
_module = cupy.RawModule(
    code="""
    template <typename T>
    __global__ void histogram(
        const T* values, long long size, double low, double scale, unsigned int* counts, int bins)
    {
        extern __shared__ unsigned int part[];
        for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) part[bin] = 0;
        __syncthreads();

        const long long step = (long long)gridDim.x * blockDim.x;
        for (long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x; k < size; k += step) {
            const double position = (values[k] - low) * scale;
            if (position >= 0 && position <= bins)
                atomicAdd(&part[min((int)position, bins - 1)], 1u);
        }
        __syncthreads();

        for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
            if (part[bin] > 0) atomicAdd(&counts[bin], part[bin]);
    }
    """,
    name_expressions=[f"histogram<{name}>" for name in _C_NAMES.values()],
)


def histogram(image: cupy.ndarray, bins: int, low: float, high: float) -> cupy.ndarray:
    """How many pixels are in each of `bins` equal intervals from `low` to `high` (uint32).

    The last interval holds `high` itself, as with `numpy.histogram`. Pixels are uint8, uint16 or
    float32; raises `TypeError` for others, and `ValueError` for more than 8192 bins.
    """
    name = _C_NAMES.get(image.dtype.name)
    if name is None:
        raise TypeError(f"no histogram of {image.dtype} pixels: use {', '.join(_C_NAMES)}")
    if not 1 <= bins <= _MOST_BINS:
        raise ValueError(f"bins must be from 1 to {_MOST_BINS}, not {bins}")
    pixels = cupy.ascontiguousarray(image)
    counts = cupy.zeros(bins, cupy.uint32)
    scale = bins / (high - low)
    _module.get_function(f"histogram<{name}>")(
        (min(-(-pixels.size // _THREADS), _MOST_BLOCKS),),
        (_THREADS,),
        (pixels, np.int64(pixels.size), float(low), scale, counts, np.int32(bins)),
        shared_mem=4 * bins,
    )
    return counts
