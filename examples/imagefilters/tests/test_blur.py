"""Blurring: shapes, values, and what it compiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import numpy as np
from imagefilters import box_blur, gaussian_blur
from imagefilters.blur import gaussian_weights
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


def test_a_blur_keeps_the_shape(image: Any) -> None:
    assert box_blur(image, 2).shape == image.shape
    assert gaussian_blur(image, 1.5).shape == image.shape


def test_a_box_blur_is_a_mean(image: Any, picture: NDArray[np.float32]) -> None:
    padded = np.pad(picture, 2, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5))
    np.testing.assert_allclose(box_blur(image, 2).get(), windows.mean(axis=(2, 3)), rtol=1e-5)


def test_a_gaussian_blur_is_two_weighted_means(image: Any, picture: NDArray[np.float32]) -> None:
    weights = gaussian_weights(1.5)
    padded = np.pad(picture, len(weights) // 2, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (len(weights), len(weights)))
    expected = np.einsum("yxij,i,j->yx", windows, weights, weights)
    np.testing.assert_allclose(gaussian_blur(image, 1.5).get(), expected, rtol=1e-5)


def test_a_blur_leaves_one_colour_as_it_is() -> None:
    grey = cupy.full((33, 50), 0.5, cupy.float32)
    cupy.testing.assert_allclose(gaussian_blur(grey, 2.0), grey, rtol=1e-5)


def test_a_gaussian_blur_compiles_one_kernel(gpu_stats: GpuStatistics, image: Any) -> None:
    gaussian_blur(image, 1.0)
    gpu_stats.expect(obtained=1)


def test_another_width_of_the_blur_compiles_nothing(gpu_stats: GpuStatistics, image: Any) -> None:
    gaussian_blur(image, 1.0)
    box_blur(image, 1)
    with gpu_stats.during() as wider:
        gaussian_blur(image, 4.0)
        box_blur(image, 5)
    wider.expect(obtained=0)
