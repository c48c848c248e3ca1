"""Tone mapping: from scene brightness to what a screen shows."""

from __future__ import annotations

import cupy

_GAMMA = 1 / 2.2


def _tone_map(image: cupy.ndarray, exposure: float, white_squared: float) -> cupy.ndarray:
    scaled = image * exposure
    mapped = scaled * (1 + scaled / white_squared) / (1 + scaled)
    return cupy.minimum(cupy.maximum(mapped, 0), 1) ** _GAMMA


_fused = cupy.fuse(kernel_name="tone_map")(_tone_map)


def tone_map(image: cupy.ndarray, exposure: float = 1.0, white: float = 4.0) -> cupy.ndarray:
    """Brightness from 0 up to values from 0 to 1: the extended operator of Reinhard, then gamma.

    What is `white` times as bright as 1 after `exposure`, or brighter, becomes 1. All of it is one
    kernel.
    """
    # Squared here: CuPy fuses a product of two Python numbers in half precision.
    return _fused(image, exposure, white * white)
