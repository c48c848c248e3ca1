"""Tone mapping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from imagefilters import tone_map
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


def test_tones_keep_the_shape_and_the_type(image: Any) -> None:
    mapped = tone_map(image)
    assert mapped.shape == image.shape
    assert mapped.dtype == image.dtype


@pytest.mark.parametrize(("exposure", "white"), [(2.0, 3.3), (400.0, 300.0)])
def test_tones_follow_the_formula(
    image: Any, picture: NDArray[np.float32], exposure: float, white: float
) -> None:
    scaled = picture.astype(np.float64) * exposure
    expected = np.clip(scaled * (1 + scaled / white**2) / (1 + scaled), 0, 1) ** (1 / 2.2)
    mapped = tone_map(image, exposure, white).get()
    np.testing.assert_allclose(mapped, expected, rtol=1e-4, atol=1e-6)


def test_the_whole_expression_is_one_kernel(gpu_stats: GpuStatistics, image: Any) -> None:
    tone_map(image)
    tone_map(image, exposure=3.0)
    gpu_stats.expect(obtained=1)
