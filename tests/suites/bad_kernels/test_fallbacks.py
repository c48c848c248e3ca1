"""Code that tries a kernel and takes another where it does not compile: the other is gathered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import pytest
from cupy.cuda.compiler import CompileException

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics

pytestmark = pytest.mark.usefixtures("gpu_stats")

FAST = 'extern "C" __global__ void fast(float* x) { x[0] = __future_intrinsic(x[0]); }'
SLOW = 'extern "C" __global__ void slow(float* x) { x[0] = sqrtf(x[0]); }'


def root(values: Any) -> str:
    """The fast kernel, where there is a compiler that knows it."""
    for source, name in ((FAST, "fast"), (SLOW, "slow")):
        try:
            cupy.RawKernel(source, name)((1,), (1,), (values,))
        except CompileException:
            continue
        return name
    raise AssertionError("no kernel compiles")


def probe() -> bool:
    """Whether a kernel compiles, as libraries find out what a compiler can do."""
    try:
        cupy.RawKernel('extern "C" __global__ void probe() { missing(); }', "probe").compile()
    except CompileException:
        return False
    return True


def test_a_fallback_is_taken_and_gathered(gpu_stats: GpuStatistics) -> None:
    assert root(cupy.zeros(1, cupy.float32)) == "slow"
    gpu_stats.expect(obtained=1, failed=1)


def test_a_fallback_that_nobody_looks_at_is_gathered() -> None:
    root(cupy.zeros(1, cupy.float32))


def test_a_probe_says_no() -> None:
    assert not probe()


def test_a_probe_that_nobody_looks_at_passes() -> None:
    probe()
