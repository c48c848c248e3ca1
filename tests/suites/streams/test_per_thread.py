"""The default stream of each thread, where the environment asks for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import cupy
import pytest
from cupy.cuda import Stream, get_current_stream

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics

PER_THREAD = os.environ.get("CUPY_CUDA_PER_THREAD_DEFAULT_STREAM") == "1"


def test_the_default_stream_is_the_one_that_was_asked_for() -> None:
    assert get_current_stream() == (Stream.ptds if PER_THREAD else Stream.null)


def test_a_kernel_on_the_default_stream_is_one(gpu_stats: GpuStatistics) -> None:
    cupy.zeros(4, cupy.float32) * 5
    with Stream.ptds:
        cupy.zeros(4, cupy.float32) * 5
    gpu_stats.expect(obtained=1)


@pytest.mark.skipif(not PER_THREAD, reason="CUPY_CUDA_PER_THREAD_DEFAULT_STREAM is not set")
def test_the_variable_is_seen_here() -> None:
    assert get_current_stream().ptr == Stream.ptds.ptr
