"""Servers on a real CUDA device: `pytest -m gpu tests/gpu` runs these where there is one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

from gpurt_core.servers import Kernel, LaunchFailed, Server, connect

pytestmark = pytest.mark.gpu

ADD = Kernel(
    "add",
    cuda="""
    extern "C" __global__ void add(float* x, float a, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) x[i] += a;
    }
    """,
)
OUTSIDE = Kernel(
    "outside", cuda='extern "C" __global__ void outside(float* x) { x[1LL << 60] = 1; }'
)
_NO_DEVICE = ("cudaErrorInsufficientDriver", "cudaErrorNoDevice")


@pytest.fixture
def cuda() -> Iterator[Server]:
    from cupy.cuda import runtime

    try:
        runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        if str(error).startswith(_NO_DEVICE):
            pytest.skip(f"no CUDA device: {error}")
        raise
    with connect("cuda:0") as server:
        yield server


def test_a_launch_runs_and_is_timed(cuda: Server) -> None:
    x = cuda.array(numpy.zeros(1 << 20, numpy.float32))
    args = [x, numpy.float32(1), numpy.int32(1 << 20)]
    seconds = cuda.profile(lambda: cuda.launch(ADD, 1 << 12, 256, args))
    assert seconds > 0
    assert numpy.array_equal(x.get(), numpy.ones(1 << 20, numpy.float32))


def test_streams_are_ordered_by_synchronize(cuda: Server) -> None:
    x = cuda.array(numpy.zeros(1024, numpy.float32))
    for stream in (cuda.stream(), cuda.stream()):
        cuda.launch(ADD, 4, 256, [x, numpy.float32(2), numpy.int32(1024)], stream=stream)
        cuda.synchronize()
    assert x.get().tolist() == [4.0] * 1024


def test_a_block_that_is_too_large_is_refused_and_the_device_is_as_it_was(cuda: Server) -> None:
    x = cuda.array(numpy.zeros(16, numpy.float32))
    cuda.launch(ADD, 1, 4096, [x, numpy.float32(1), numpy.int32(16)])
    with pytest.raises(LaunchFailed, match="too large") as caught:
        cuda.synchronize()
    assert caught.value.refused
    assert x.get().tolist() == [0.0] * 16


def test_a_kernel_that_breaks_the_device_is_named(cuda: Server) -> None:
    """In a process of its own: no other kernel runs on a context that is broken."""
    from tests.servers.fresh_python import run_python

    run_python(
        f"""
        import numpy, pytest, warnings
        from gpurt_core.servers import *
        server = connect("cuda:0")
        kernel = Kernel("outside", cuda={OUTSIDE.cuda!r})
        server.launch(kernel, 1, 1, [server.empty(4, numpy.float32)])
        with pytest.raises(LaunchFailed, match="'outside'.*failed on cuda:0") as caught:
            server.synchronize()
        assert not caught.value.refused
        import os
        os._exit(0)
        """
    )
