"""Resampling as a sparse matrix, which is set up once and applied to many images."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cupy
import numpy as np

_INCLUDE = Path(__file__).parent / "include"
_THREADS = 128
_WARP = 32

_times_vector = cupy.RawKernel(
    """
    #include <imagefilters/warp.cuh>

    extern "C" __global__ void csr_times_vector(
        const int* starts, const int* columns, const float* weights, const float* x, float* y,
        int rows)
    {
        const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
        float total = 0;
        if (row < rows)
            for (int k = starts[row] + lane; k < starts[row + 1]; k += 32)
                total += weights[k] * x[columns[k]];
        total = imagefilters::warp_sum(total);
        if (row < rows && lane == 0) y[row] = total;
    }
    """,
    "csr_times_vector",
    options=(f"-I{_INCLUDE}",),
)


@dataclass(frozen=True, eq=False)
class CsrMatrix:
    """A sparse matrix in compressed rows, in device memory."""

    starts: cupy.ndarray
    """Where each row starts in `columns` and `weights`, and where the last ends (int32)."""
    columns: cupy.ndarray
    """The column of each entry (int32)."""
    weights: cupy.ndarray
    """The value of each entry (float32)."""
    shape: tuple[int, int]

    def __matmul__(self, vector: cupy.ndarray) -> cupy.ndarray:
        """The product with a float32 vector: a warp for each row."""
        rows, columns = self.shape
        if vector.shape != (columns,):
            raise ValueError(f"a matrix of shape {self.shape} times a vector of {vector.shape}")
        out = cupy.empty(rows, cupy.float32)
        arguments = (self.starts, self.columns, self.weights, vector, out, np.int32(rows))
        _times_vector((-(-rows * _WARP // _THREADS),), (_THREADS,), arguments)
        return out


def halving(height: int, width: int) -> CsrMatrix:
    """The matrix that makes an image half as high and wide, of means of four pixels.

    It is applied to the image's pixels row by row; `height` and `width` (pixels) are even.
    """
    if height % 2 or width % 2:
        raise ValueError(f"an image of {height} by {width} pixels has no half")
    pixels = np.arange(height * width, dtype=np.int32).reshape(height, width)
    corners = (pixels[0::2, 0::2], pixels[0::2, 1::2], pixels[1::2, 0::2], pixels[1::2, 1::2])
    columns = np.stack([corner.ravel() for corner in corners], axis=1)
    rows = len(columns)
    return CsrMatrix(
        starts=cupy.asarray(np.arange(0, 4 * rows + 1, 4, dtype=np.int32)),
        columns=cupy.asarray(columns.ravel()),
        weights=cupy.asarray(np.full(4 * rows, 0.25, np.float32)),
        shape=(rows, height * width),
    )
