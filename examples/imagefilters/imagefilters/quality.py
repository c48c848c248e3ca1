"""How far two images are apart."""

from __future__ import annotations

import cupy

_decibels = cupy.ReductionKernel(
    "T x, T y, float64 peak",
    "float64 decibels",
    "(x - y) * (x - y) / (peak * peak)",
    "a + b",
    "decibels = -10 * log10(a / (_in_ind.size() / _out_ind.size()))",
    "0",
    "peak_signal_to_noise",
    reduce_type="double",
)


def peak_signal_to_noise(
    image: cupy.ndarray, reference: cupy.ndarray, peak: float = 1.0
) -> cupy.ndarray:
    """The ratio of the largest possible value to the error (decibels), as an array of shape ().

    Infinite for equal images.
    """
    return _decibels(image, reference, peak)
