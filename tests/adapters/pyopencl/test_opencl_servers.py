"""Servers under the seam: what they send reaches the device, and their reads are not seen twice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

from gpurt_core.adapters.pyopencl import PyOpenCLSeam
from gpurt_core.execution import ProcessMode, StreamMode, StreamModeOverride
from gpurt_core.servers import LaunchFailed, Server, connect
from tests.adapters.pyopencl.conftest import InMode
from tests.servers.conftest import DOUBLE


@pytest.fixture
def server(seam: PyOpenCLSeam) -> Iterator[Server]:
    with connect("opencl:0") as server:
        yield server


@pytest.mark.parametrize("mode", ProcessMode)
def test_a_stream_that_executes_does_so_in_every_mode(
    server: Server, in_mode: InMode, mode: ProcessMode
) -> None:
    in_mode(mode)
    x = server.array(numpy.ones(4, numpy.float32))
    stream = server.stream()
    with StreamModeOverride(StreamMode.EXECUTE, stream.service_stream):
        stream.profile(lambda: server.launch(DOUBLE, 1, 4, [x], stream=stream))
    assert x.get().tolist() == [2.0] * 4


def test_a_launch_that_is_dropped_leaves_the_array(server: Server, in_mode: InMode) -> None:
    in_mode(ProcessMode.COMPILE_AND_AUTOTUNE)
    x = server.array(numpy.ones(4, numpy.float32))
    server.launch(DOUBLE, 1, 4, [x])
    server.synchronize()
    assert x.get().tolist() == [1.0] * 4


def test_a_read_of_a_server_is_told_by_the_server_alone(server: Server, seam: PyOpenCLSeam) -> None:
    told: list[object] = []
    server.reads.add(told.append)
    x = server.array(numpy.ones(4, numpy.float32))
    x.get()
    assert told == [x]
    assert seam.reads.count == 0


def test_kernels_of_a_server_count_once_and_fail_as_without_the_seam(
    server: Server, in_mode: InMode
) -> None:
    collector = in_mode(ProcessMode.EXECUTE)
    server.launch(DOUBLE, 1, 4, [server.empty(4, numpy.float32)])
    server.synchronize()
    assert collector.statistics().compilation.registered == 1
    server.launch(DOUBLE, 1, 4, [numpy.float32(1)])
    with pytest.raises(LaunchFailed, match="argument 0"):
        server.synchronize()
