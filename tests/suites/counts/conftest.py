"""Fixtures of every scope that compile kernels, and a factory of kernels of a test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cupy
import pytest

Launch = Callable[[], None]
Doubling = Callable[[str], Launch]


def _doubling(name: str) -> Launch:
    source = f"""
    extern "C" __global__ void {name}(float* values) {{
        values[threadIdx.x] *= 2.0f;
    }}
    """
    kernel = cupy.RawKernel(source, name)
    return lambda: kernel((1,), (32,), (cupy.zeros(32, cupy.float32),))


@pytest.fixture(scope="session")
def doubling() -> Doubling:
    """Makes a kernel that doubles 32 numbers, and what launches it; a name is a kernel."""
    return _doubling


@pytest.fixture(scope="session")
def session_table() -> Any:
    """Costs two kernels, one of them (`arange`) one that tests use, too."""
    _doubling("session_table")()
    return cupy.arange(32)


@pytest.fixture(scope="module")
def module_table(session_table: Any) -> Iterator[Any]:
    """Costs one kernel to set up and another to tear down."""
    _doubling("module_table")()
    yield session_table
    _doubling("module_table_teardown")()


@pytest.fixture(scope="class")
def class_table() -> Launch:
    """Costs one kernel, which it hands out."""
    launch = _doubling("class_table")
    launch()
    return launch


@pytest.fixture
def function_table() -> Iterator[Launch]:
    """Costs one kernel to set up and another to tear down: both are the test's."""
    launch = _doubling("function_table")
    launch()
    yield launch
    _doubling("function_table_teardown")()
