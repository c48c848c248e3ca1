"""The image that all tests look at."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
import pytest
from numpy.typing import NDArray


@pytest.fixture(scope="session")
def picture() -> NDArray[np.float32]:
    """A bright disc on a slope, with noise: 96 by 160 pixels from 0 to 1."""
    y, x = np.mgrid[0:96, 0:160]
    disc = (y - 40) ** 2 + (x - 70) ** 2 < 30**2
    noise = np.random.default_rng(7).uniform(0, 0.1, y.shape)
    picture: NDArray[np.float64] = 0.4 * x / 160 + 0.5 * disc + noise
    return picture.astype(np.float32)


@pytest.fixture(scope="session")
def image(picture: NDArray[np.float32]) -> Any:
    """The same in device memory."""
    return cupy.asarray(picture)
