"""Values, and that each key is measured or recalled once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
from scaling import scale

if TYPE_CHECKING:
    from gpurt_core.servers import Server
    from pytest_gpurt.statistics import GpuStatistics


def test_a_vector_is_scaled_in_the_fastest_way(
    gpu_device: Server,
    gpu_mode: str | None,
    gpu_stats: GpuStatistics,
    values: numpy.ndarray,
    factor: float,
) -> None:
    x = gpu_device.array(values)
    for _ in range(2):
        scale(gpu_device, x, factor)
    tunes = gpu_stats.autotune
    assert tunes.registered + tunes.recalled == 1
    if gpu_mode == "autotune":  # the pass drops launches: nothing may have touched the vector
        numpy.testing.assert_array_equal(x.get(), values)
    else:
        factors = numpy.float32(factor) * numpy.float32(factor)
        numpy.testing.assert_allclose(x.get(), values * factors, rtol=1e-6)
