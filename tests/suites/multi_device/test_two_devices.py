"""Tests of two devices, of the same architecture or of two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import pytest
from cupy.cuda import Device, runtime

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics

pytestmark = pytest.mark.multi_gpu(2)


def architectures() -> int:
    """How many architectures the two devices have."""
    return len({Device(number).compute_capability for number in (0, 1)})


def launch_on_both(kernel: Any) -> None:
    """One launch on each device."""
    for number in (0, 1):
        with Device(number):
            kernel((1,), (32,), (cupy.zeros(32, cupy.float32),))


def test_an_array_is_on_the_device_of_the_block() -> None:
    with Device(1):
        assert cupy.zeros(4).device.id == 1
    assert cupy.zeros(4).device.id == 0


def test_the_device_is_restored_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), Device(1):
        _ = 1 // 0
    assert Device().id == 0


def test_a_raw_kernel_is_obtained_for_each_device(gpu_stats: GpuStatistics) -> None:
    launch_on_both(
        cupy.RawKernel('extern "C" __global__ void both(float* x) { x[threadIdx.x] = 1; }', "both")
    )
    gpu_stats.expect(obtained=2)


def test_devices_of_one_architecture_share_a_compilation(
    gpu_stats: GpuStatistics, gpu_fresh_environment: object
) -> None:
    launch_on_both(
        cupy.RawKernel('extern "C" __global__ void once(float* x) { x[threadIdx.x] = 1; }', "once")
    )
    gpu_stats.expect(obtained=2, compiled=architectures(), loaded=2 - architectures())


def test_an_expression_is_obtained_for_each_device(gpu_stats: GpuStatistics) -> None:
    for number in (0, 1, 0):
        with Device(number):
            cupy.zeros(4, cupy.float32) * 2
    gpu_stats.expect(obtained=2)


def test_attributes_are_those_of_the_current_device() -> None:
    kernel = cupy.RawKernel('extern "C" __global__ void asked(float* x) { x[0] = 1; }', "asked")
    for number in (0, 1):
        with Device(number) as device:
            assert kernel.attributes["binary_version"] == int(device.compute_capability)


def test_a_copy_between_devices_keeps_the_data() -> None:
    source = cupy.asarray([1.0, 2.0, 3.0])
    with Device(1):
        copied = cupy.asarray(source)
        assert copied.device.id == 1
    assert copied.get().tolist() == [1.0, 2.0, 3.0]


def test_devices_may_reach_each_other() -> None:
    assert runtime.deviceCanAccessPeer(0, 1) in (0, 1)


def test_a_stream_belongs_to_its_device(gpu_stats: GpuStatistics) -> None:
    with Device(1):
        stream = cupy.cuda.Stream()
        with stream:
            cupy.zeros(4, cupy.float64) - 2
    assert stream.device_id == 1
    gpu_stats.expect(obtained=1)
