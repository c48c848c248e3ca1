"""Streams and events: what the plugin does uses none, and resets none."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import cupy
import pytest
from cupy.cuda import Event, Stream, get_current_stream, get_elapsed_time

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics

PER_THREAD = os.environ.get("CUPY_CUDA_PER_THREAD_DEFAULT_STREAM") == "1"
DEFAULT = Stream.ptds if PER_THREAD else Stream.null


def test_a_stream_that_is_used_stays_current() -> None:
    stream = Stream(non_blocking=True)
    stream.use()
    cupy.zeros(4, cupy.float16) * 2
    assert get_current_stream() == stream
    DEFAULT.use()


def test_counting_leaves_the_current_stream(gpu_stats: GpuStatistics) -> None:
    with Stream() as stream:
        cupy.zeros(4, cupy.float32) * 2
        assert gpu_stats.compilation.obtained == 1
        assert get_current_stream() == stream


def test_a_kernel_on_eight_streams_is_one(gpu_stats: GpuStatistics) -> None:
    for _ in range(8):
        with Stream(non_blocking=True):
            cupy.zeros(4, cupy.float32) - 2
    gpu_stats.expect(obtained=1)


def test_threads_with_streams_of_their_own_count_to_the_test(gpu_stats: GpuStatistics) -> None:
    def launch(number: int) -> None:
        name = f"of_thread_{number}"
        with Stream(non_blocking=True) as stream:
            kernel = cupy.RawKernel(f'extern "C" __global__ void {name}(float* x) {{}}', name)
            kernel((1,), (1,), (cupy.zeros(1, cupy.float32),))
            stream.synchronize()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(launch, range(8)))
    gpu_stats.expect(obtained=8)


def test_elapsed_time_is_no_nonsense() -> None:
    start, end = Event(), Event()
    start.record()
    cupy.zeros(4, cupy.complex64) * 3
    end.record()
    end.synchronize()
    assert 0 <= get_elapsed_time(start, end) < 60_000
    assert start.done


def test_a_stream_waits_for_an_event() -> None:
    first, second = Stream(), Stream()
    event = first.record()
    second.wait_event(event)
    second.synchronize()
    assert first.done
    assert second.done


def test_a_callback_of_a_stream_is_called() -> None:
    called: list[int] = []
    stream = Stream()
    stream.launch_host_func(called.append, 1)
    stream.synchronize()
    assert called == [1]


@pytest.mark.parametrize("number", [1, 2])
def test_a_stream_that_leaks_out_of_a_test_leaks(number: int) -> None:
    if number == 1:
        Stream(non_blocking=True).use()
    assert get_current_stream() != DEFAULT
    if number == 2:
        DEFAULT.use()
