"""Quality."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import numpy as np
import pytest
from imagefilters import box_blur, peak_signal_to_noise
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


def test_the_ratio_is_one_number(image: Any) -> None:
    assert peak_signal_to_noise(image, image).shape == ()


def test_the_ratio_follows_the_definition(image: Any, picture: NDArray[np.float32]) -> None:
    noisy = picture + np.float32(0.1)
    error = np.mean((noisy.astype(np.float64) - picture) ** 2)
    ratio = float(peak_signal_to_noise(cupy.asarray(noisy), image, peak=2.0))
    assert ratio == pytest.approx(10 * np.log10(4 / error), rel=1e-5)


def test_a_stronger_blur_is_further_away(image: Any) -> None:
    weak, strong = (peak_signal_to_noise(box_blur(image, radius), image) for radius in (1, 4))
    assert float(strong) < float(weak)


def test_a_ratio_costs_one_kernel(gpu_stats: GpuStatistics, image: Any) -> None:
    peak_signal_to_noise(image, image)
    gpu_stats.expect(obtained=1)
