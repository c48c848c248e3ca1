"""Sources that are not ASCII, and names that are long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import pytest

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics

LONG = "long_name_" * 300


def kernel(name: str, comment: str = "") -> Any:
    """A kernel with a comment."""
    source = f'extern "C" __global__ void {name}(float* x) {{ x[0] = 1; /* {comment} */ }}'
    return cupy.RawKernel(source, name)


@pytest.mark.parametrize(
    "comment",
    ["カーネルは x ≤ 1", "Timothée", "🚀", "\\u2264"],
    ids=["japanese", "french", "emoji", "escape"],
)
def test_a_comment_in_any_script(gpu_stats: GpuStatistics, comment: str) -> None:
    kernel("commented", comment)((1,), (1,), (cupy.zeros(1, cupy.float32),))
    gpu_stats.expect(obtained=1)


def test_comments_in_two_scripts_are_two_kernels(gpu_stats: GpuStatistics) -> None:
    for comment in ("≤", "≥"):
        kernel("compared", comment)((1,), (1,), (cupy.zeros(1, cupy.float32),))
    gpu_stats.expect(obtained=2)


def test_a_name_of_three_thousand_characters(gpu_stats: GpuStatistics) -> None:
    kernel(LONG)((1,), (1,), (cupy.zeros(1, cupy.float32),))
    gpu_stats.expect(obtained=1)


def test_an_elementwise_kernel_that_is_not_ascii(gpu_stats: GpuStatistics) -> None:
    doubled = cupy.ElementwiseKernel("T x", "T y", "y = 2 * x; // größer", "doubled")
    assert doubled(cupy.zeros(4)).shape == (4,)
    gpu_stats.expect(obtained=1)
