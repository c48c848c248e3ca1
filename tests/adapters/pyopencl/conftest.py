"""PyOpenCL with and without the seam, and code that knows nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pyopencl
import pytest

from gpurt_core.adapters.pyopencl import PyOpenCLSeam
from gpurt_core.compilation import KernelEvent
from gpurt_core.execution import ProcessMode, ProcessModeOverride, StatisticsCollector
from gpurt_core.servers.opencl.devices import find_devices
from tests.servers.conftest import Store

TWICE = "__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2; }"
BROKEN = "__kernel void broken(__global float *x) { x[0] = undeclared; }"

InMode = Callable[[ProcessMode], StatisticsCollector]


@pytest.fixture
def context() -> Any:
    return pyopencl.Context([find_devices()[0]])


@pytest.fixture
def queue(context: Any) -> Any:
    return pyopencl.CommandQueue(context)


@pytest.fixture
def ones(context: Any) -> Any:
    """A buffer of four ones."""
    flags = pyopencl.mem_flags.READ_WRITE | pyopencl.mem_flags.COPY_HOST_PTR
    return pyopencl.Buffer(context, flags, hostbuf=numpy.ones(4, numpy.float32))


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def events() -> list[KernelEvent]:
    return []


@pytest.fixture
def seam(store: Store, events: list[KernelEvent]) -> Iterator[PyOpenCLSeam]:
    """The seam, with an environment."""
    seam = PyOpenCLSeam.install(store, on_settled=events.append)
    yield seam
    seam.uninstall()


@pytest.fixture
def bare_seam() -> Iterator[PyOpenCLSeam]:
    """The seam, without one."""
    seam = PyOpenCLSeam.install()
    yield seam
    seam.uninstall()


@pytest.fixture
def in_mode() -> Iterator[InMode]:
    """`in_mode(mode)` puts the process in it until the test ends; who counts."""
    opened: list[ProcessModeOverride] = []

    def put(mode: ProcessMode) -> StatisticsCollector:
        collector = StatisticsCollector("the test")
        opened.append(ProcessModeOverride(mode, collector).open())
        return collector

    yield put
    for override in reversed(opened):
        override.close()


def values(queue: Any, buffer: Any) -> list[float]:
    """What is in a buffer of four floats."""
    host = numpy.empty(4, numpy.float32)
    pyopencl.enqueue_copy(queue, host, buffer)
    return [float(value) for value in host]
