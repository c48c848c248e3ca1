"""What the device says of itself."""

from __future__ import annotations

import cupy
import pytest
from cupy.cuda import runtime


def test_properties_fit_each_other_and_the_architecture() -> None:
    properties = runtime.getDeviceProperties(0)
    device = cupy.cuda.Device(0)
    assert device.compute_capability == f"{properties['major']}{properties['minor']}" == "80"
    assert properties["warpSize"] == device.attributes["WarpSize"] == 32
    assert properties["multiProcessorCount"] == device.attributes["MultiProcessorCount"] > 0
    assert properties["totalGlobalMem"] == device.mem_info[1]


def test_the_name_says_that_it_is_none() -> None:
    name = runtime.getDeviceProperties(0)["name"].decode()
    assert "null" in name.lower()


def test_there_is_one_device() -> None:
    assert runtime.getDeviceCount() == 1
    assert cupy.cuda.Device().id == 0


def test_another_device_is_refused() -> None:
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidDevice"):
        cupy.cuda.Device(1).use()


def test_versions_are_numbers() -> None:
    assert runtime.runtimeGetVersion() >= 12000
    assert runtime.driverGetVersion() >= runtime.runtimeGetVersion()


def test_the_configuration_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    cupy.show_config()
    assert "Device 0 Compute Capability  : 80" in capsys.readouterr().out
