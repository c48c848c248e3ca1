"""CUDA arrays: what is copied in comes out again."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
import pytest
from cupy.cuda import runtime, texture

FLOATS = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)


@pytest.mark.parametrize("shape", [(16,), (4, 16), (3, 4, 16)])
def test_a_round_trip_returns_the_data(shape: tuple[int, ...]) -> None:
    expected = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    array = texture.CUDAarray(FLOATS, *shape[::-1])
    array.copy_from(cupy.asarray(expected))
    back: Any = cupy.zeros(shape, cupy.float32)
    array.copy_to(back)
    np.testing.assert_array_equal(back.get(), expected)


def test_an_array_of_another_shape_is_refused() -> None:
    array = texture.CUDAarray(FLOATS, 16, 4)
    with pytest.raises(ValueError, match="shape"):
        array.copy_from(cupy.zeros((4, 15), cupy.float32))


def test_a_surface_is_made_of_an_array() -> None:
    array = texture.CUDAarray(FLOATS, 16, 4, 0, runtime.cudaArraySurfaceLoadStore)
    resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    assert texture.SurfaceObject(resource).ptr != 0
