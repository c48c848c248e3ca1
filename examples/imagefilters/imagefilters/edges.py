"""Finding edges."""

from __future__ import annotations

import cupy

_sobel = cupy.ElementwiseKernel(
    "raw float32 image, int32 height, int32 width",
    "float32 out",
    """
    const int row = i / width, column = i % width;
    float across = 0, down = 0;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            const int y = min(max(row + dy, 0), height - 1);
            const int x = min(max(column + dx, 0), width - 1);
            const float value = image[y * width + x];
            across += dx * (2 - abs(dy)) * value;
            down += dy * (2 - abs(dx)) * value;
        }
    }
    out = sqrtf(across * across + down * down);
    """,
    "sobel",
)


def sobel(image: cupy.ndarray) -> cupy.ndarray:
    """The size of the gradient of a float32 image, by the operator of Sobel and Feldman."""
    height, width = image.shape
    return _sobel(image, height, width, cupy.empty((height, width), cupy.float32))
