"""Histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import numpy as np
import pytest
from imagefilters import histogram
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


def test_there_is_a_count_for_each_bin(image: Any) -> None:
    counts = histogram(image, 32, 0.0, 1.0)
    assert counts.shape == (32,)
    assert counts.dtype == cupy.uint32


@pytest.mark.parametrize(("dtype", "high"), [("uint8", 255), ("uint16", 1000), ("float32", 1.0)])
def test_counts_are_those_of_numpy(picture: NDArray[np.float32], dtype: str, high: float) -> None:
    pixels = (picture.clip(0, 1) * high).astype(dtype)
    expected, _ = np.histogram(pixels, 16, (0, high))
    np.testing.assert_array_equal(histogram(cupy.asarray(pixels), 16, 0, high).get(), expected)


def test_pixels_of_another_type_are_refused() -> None:
    with pytest.raises(TypeError, match="complex64"):
        histogram(cupy.zeros(4, cupy.complex64), 4, 0, 1)


def test_too_many_bins_are_refused(image: Any) -> None:
    with pytest.raises(ValueError, match="from 1 to 8192, not 10000"):
        histogram(image, 10_000, 0, 1)


def test_all_types_share_one_compilation(gpu_stats: GpuStatistics) -> None:
    for dtype in ("uint8", "uint16", "float32"):
        histogram(cupy.zeros((8, 8), dtype), 4, 0, 1)
    gpu_stats.expect(obtained=1)
