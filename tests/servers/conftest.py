"""Servers of every kind, and what tests of them share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from gpurt_core.compilation import usable_cpus
from gpurt_core.execution import ProcessMode, ProcessModeOverride, StatisticsCollector
from gpurt_core.servers import Server, connect, register, unregister
from tests.servers.numpy_backend import Faults, NumpyPlugin, PythonKernel

if usable_cpus() < 2:  # one unit cannot be divided: PoCL takes two threads for it
    os.environ.setdefault("POCL_MAX_PTHREAD_COUNT", "2")

EVERY_KIND = ("opencl:0", "opencl:0.1", "numpy:0")

ADD = PythonKernel(
    "add",
    opencl="""
    __kernel void add(__global float *x, float a, int n) {
        int i = get_global_id(0);
        if (i < n) x[i] += a;
    }
    """,
    python="def add(threads, x, a, n): x[:min(threads, n)] += a",
)
DOUBLE = PythonKernel(
    "twice",
    opencl="__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2; }",
    python="def twice(threads, x): x[:threads] *= 2",
)
BROKEN = PythonKernel(
    "broken",
    opencl="__kernel void broken(__global float *x) { x[0] = undeclared; }",
    python="def broken(threads, x: x[0] = undeclared",
)


class Store:
    """An environment that is a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.labels: dict[str, str] = {}

    def artifact(self, id: str) -> bytes | None:
        return self.kept.get(id)

    def store(
        self, id: str, artifact: bytes, *, source: str | None = None, label: str = ""
    ) -> bool:
        self.kept[id] = artifact
        self.labels[id] = label
        return True


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def faults() -> Iterator[Faults]:
    """Faults of `numpy:0`, which is there for the length of a test."""
    faults = Faults()
    plugin = NumpyPlugin(faults)
    register(plugin)
    yield faults
    unregister(plugin)


@pytest.fixture(params=EVERY_KIND)
def server(request: pytest.FixtureRequest, store: Store, faults: Faults) -> Iterator[Server]:
    """One of every kind, with an environment."""
    with connect(request.param, environment=store) as server:
        yield server


@pytest.fixture
def opencl(store: Store) -> Iterator[Server]:
    """The first OpenCL device, with an environment."""
    with connect("opencl:0", environment=store) as server:
        yield server


@pytest.fixture
def numpy_server(store: Store, faults: Faults) -> Iterator[Server]:
    """The device that faults can be injected into."""
    with connect("numpy:0", environment=store) as server:
        yield server


InMode = Callable[[ProcessMode], StatisticsCollector]


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
