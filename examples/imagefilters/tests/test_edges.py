"""Edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import numpy as np
from imagefilters import sobel
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


def reference(picture: NDArray[np.float32]) -> NDArray[np.float64]:
    """The same by NumPy."""
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(picture, 1, mode="edge"), (3, 3))
    smooth, slope = np.array([1, 2, 1]), np.array([-1, 0, 1])
    across = np.einsum("yxij,i,j->yx", windows, smooth, slope)
    down = np.einsum("yxij,i,j->yx", windows, slope, smooth)
    size: NDArray[np.float64] = np.hypot(across, down)
    return size


def test_edges_keep_the_shape(image: Any) -> None:
    assert sobel(image).shape == image.shape


def test_edges_are_gradients(image: Any, picture: NDArray[np.float32]) -> None:
    np.testing.assert_allclose(sobel(image).get(), reference(picture), rtol=1e-4, atol=1e-5)


def test_one_colour_has_no_edges() -> None:
    assert not sobel(cupy.zeros((16, 16), cupy.float32)).get().any()


def test_edges_of_images_of_any_size_compile_one_kernel(gpu_stats: GpuStatistics) -> None:
    for size in (16, 17, 200):
        sobel(cupy.zeros((size, size), cupy.float32))
    gpu_stats.expect(obtained=1)
