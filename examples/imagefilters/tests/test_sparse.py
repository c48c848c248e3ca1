"""Resampling by sparse matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import numpy as np
import pytest
from imagefilters import halving
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


def test_half_an_image_has_a_quarter_of_the_pixels(image: Any) -> None:
    height, width = image.shape
    half = halving(height, width) @ image.ravel()
    assert half.shape == (height * width // 4,)


def test_pixels_of_the_half_are_means(image: Any, picture: NDArray[np.float32]) -> None:
    height, width = picture.shape
    half = (halving(height, width) @ image.ravel()).reshape(height // 2, width // 2)
    expected = picture.reshape(height // 2, 2, width // 2, 2).mean(axis=(1, 3))
    np.testing.assert_allclose(half.get(), expected, rtol=1e-5)


def test_an_odd_size_is_refused() -> None:
    with pytest.raises(ValueError, match="5 by 4"):
        halving(5, 4)


def test_a_vector_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(15,\)"):
        halving(4, 4) @ cupy.zeros(15, cupy.float32)


def test_the_matrix_is_set_up_without_a_kernel(gpu_stats: GpuStatistics, image: Any) -> None:
    matrix = halving(*image.shape)
    gpu_stats.expect(obtained=0)
    for _ in range(3):
        matrix @ image.ravel()
    gpu_stats.expect(obtained=1)
