"""Compiles before there is any test."""

from __future__ import annotations

from typing import Any

import cupy
import pytest

MODULE = cupy.RawModule(code='extern "C" __global__ void f(float* x) { x[0] = 1; }')
FUNCTION = MODULE.get_function("f")
KERNEL = cupy.RawKernel('extern "C" __global__ void g(float* x) { x[0] = 2; }', "g")
KERNEL.compile()
REGISTERS = KERNEL.num_regs


@pytest.fixture
def function() -> Any:
    """A function that was taken when this file was read."""
    return FUNCTION


@pytest.fixture
def registers() -> int:
    """An attribute that was asked for when this file was read."""
    return int(REGISTERS)
