"""Kernels that do not compile and that no test handles; and one that is well."""

from __future__ import annotations

from typing import Any

import cupy
import pytest


@pytest.fixture(scope="module")
def broken_table() -> Any:
    """A fixture whose kernel does not compile."""
    source = 'extern "C" __global__ void table(float* x) { x[0] = of_the_fixture; }'
    values = cupy.zeros(8, cupy.float32)
    cupy.RawKernel(source, "table")((1,), (1,), (values,))
    return values


def test_a_launch_of_a_bad_kernel_fails() -> None:
    half = cupy.ElementwiseKernel("T x", "T y", "y = x / divisor", "half_without_divisor")
    half(cupy.zeros(4, cupy.float32))


def test_another_test_of_the_same_bad_kernel_fails_too() -> None:
    half = cupy.ElementwiseKernel("T x", "T y", "y = x / divisor", "half_without_divisor")
    half(cupy.zeros(8, cupy.float32))


def test_a_bad_kernel_fails_though_its_result_is_read() -> None:
    bad = cupy.ElementwiseKernel("T x", "T y", "y = x +", "ends_early")
    assert float(bad(cupy.zeros((), cupy.float32))) == 1.0


@pytest.mark.usefixtures("gpu_stats")
def test_a_function_that_the_module_lacks_fails() -> None:
    module = cupy.RawModule(code='extern "C" __global__ void present(float* x) { x[0] = 1; }')
    module.get_function("absent")


def test_a_fixture_with_a_bad_kernel_fails(broken_table: Any) -> None:
    assert broken_table.shape == (8,)


def test_a_good_kernel_in_between_is_not_touched() -> None:
    good = cupy.ElementwiseKernel("T x", "T y", "y = x + 1", "good_in_between")
    good(cupy.zeros(4, cupy.float32))
