"""Blurring; beyond the border an image goes on with its outermost pixels."""

from __future__ import annotations

import math

import cupy
import numpy as np
from numpy.typing import NDArray

_box = cupy.ElementwiseKernel(
    "raw float32 image, int32 height, int32 width, int32 radius",
    "float32 out",
    """
    const int row = i / width, column = i % width;
    float total = 0;
    for (int dy = -radius; dy <= radius; ++dy) {
        const int y = min(max(row + dy, 0), height - 1);
        for (int dx = -radius; dx <= radius; ++dx)
            total += image[y * width + min(max(column + dx, 0), width - 1)];
    }
    out = total / ((2 * radius + 1) * (2 * radius + 1));
    """,
    "box_blur",
)

# A block blurs a piece of one row, of which it keeps a copy with a margin in shared memory. It
# writes the result as a column, so that a second launch does the same to the columns.
_gaussian = cupy.RawKernel(
    """
    extern "C" __global__ void gaussian_rows(
        const float* image, const float* weights, float* out, int height, int width, int radius)
    {
        extern __shared__ float tile[];
        const int row = blockIdx.y, start = blockIdx.x * blockDim.x;
        for (int k = threadIdx.x; k < blockDim.x + 2 * radius; k += blockDim.x)
            tile[k] = image[row * width + min(max(start + k - radius, 0), width - 1)];
        __syncthreads();

        const int column = start + threadIdx.x;
        if (column >= width) return;
        float total = 0;
        for (int k = 0; k <= 2 * radius; ++k) total += weights[k] * tile[threadIdx.x + k];
        out[column * height + row] = total;
    }
    """,
    "gaussian_rows",
)
_THREADS = 128


def box_blur(image: cupy.ndarray, radius: int) -> cupy.ndarray:
    """The mean of the (2 * radius + 1)² pixels around each pixel of a float32 image."""
    height, width = image.shape
    return _box(image, height, width, radius, cupy.empty((height, width), cupy.float32))


def gaussian_blur(image: cupy.ndarray, sigma: float) -> cupy.ndarray:
    """A float32 image under a Gaussian of `sigma` pixels, which is cut off at three of them."""
    weights = gaussian_weights(sigma)
    on_device = cupy.asarray(weights)
    return _blur_rows(_blur_rows(cupy.ascontiguousarray(image), on_device), on_device)


def gaussian_weights(sigma: float) -> NDArray[np.float32]:
    """The weights of one direction: they are symmetric, and add up to 1."""
    radius = math.ceil(3 * sigma)
    weights: NDArray[np.float64] = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    weights /= weights.sum()
    return weights.astype(np.float32)


def _blur_rows(image: cupy.ndarray, weights: cupy.ndarray) -> cupy.ndarray:
    """Each row blurred; the result is transposed."""
    height, width = image.shape
    radius = weights.size // 2
    out = cupy.empty((width, height), cupy.float32)
    _gaussian(
        (-(-width // _THREADS), height),
        (_THREADS,),
        (image, weights, out, np.int32(height), np.int32(width), np.int32(radius)),
        shared_mem=4 * (_THREADS + 2 * radius),
    )
    return out
