"""What a null device says it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpurt_core.adapters.cupy.null_device import known_architectures, profile_for
from gpurt_core.errors import UnknownArchitecture

Script = Callable[..., str]


@pytest.mark.parametrize("name", ["sm_90", "SM_90", "sm_90a", "compute_90", "sm90", "9.0", 90])
def test_an_architecture_may_be_spelled_in_any_usual_way(name: str | int) -> None:
    profile = profile_for(name)
    assert profile.architecture == "sm_90"
    assert profile.compute_capability == (9, 0)
    assert profile.name == b"gpurt null device (sm_90)"


@pytest.mark.parametrize("name", ["sm_9", "sm_12", "", "hopper", "sm_90x", "gfx90", "sm_999", 7])
def test_an_unknown_architecture_is_refused_with_the_known_ones(name: str | int) -> None:
    with pytest.raises(UnknownArchitecture, match="choose from sm_75, sm_80, ") as caught:
        profile_for(name)
    assert caught.value.known == known_architectures()


def test_two_digits_before_the_last_are_the_major_version() -> None:
    assert profile_for("sm_121").compute_capability == (12, 1)


@pytest.mark.parametrize("name", known_architectures())
def test_the_figures_of_a_profile_fit_together(name: str) -> None:
    profile = profile_for(name)
    assert profile.shared_per_block <= profile.shared_per_block_optin
    assert (
        profile.shared_per_block_optin + profile.reserved_shared_per_block
        <= profile.shared_per_multiprocessor
    )
    assert profile.threads_per_multiprocessor % 32 == 0
    assert 2**30 < profile.memory < 2**40
    assert profile.with_memory(2**20).memory == 2**20


def test_every_architecture_of_the_installed_compiler_has_a_profile(run_python: Script) -> None:
    run_python(
        """
        from cupy_backends.cuda.libs import nvrtc
        from gpurt_core.adapters.cupy.null_device import profile_for
        for number in nvrtc.getSupportedArchs():
            assert profile_for(number).architecture == f"sm_{number}"
        """
    )


def test_attributes_agree_with_properties_and_none_is_missing(on_null_device: Script) -> None:
    on_null_device(
        """
        import cupy_backends.cuda.api._runtime_enum as enum
        for number in (0, 1):
            properties = runtime.getDeviceProperties(number)
            attributes = {
                name.removeprefix("cudaDevAttr"): runtime.deviceGetAttribute(value, number)
                for name, value in vars(enum).items() if name.startswith("cudaDevAttr")
            }
            optin = attributes["MaxSharedMemoryPerBlockOptin"]
            assert optin == properties["sharedMemPerBlockOptin"]
            assert attributes["MaxBlockDimZ"] == properties["maxThreadsDim"][2] == 64
            assert attributes["PciBusId"] == properties["pciBusID"] == number + 1
            major = runtime.deviceGetAttribute(75, number)
            assert properties["major"] == major == (8, 12)[number]
            assert len(properties["uuid"]) == 16
            name = runtime.deviceGetPCIBusId(number)
            assert runtime.deviceGetByPCIBusId(name) == number
            assert cupy.cuda.Device.from_pci_bus_id(name).id == number
        a, b = (runtime.getDeviceProperties(number)["uuid"] for number in (0, 1))
        assert a != b
        """,
        "sm_80",
        "sm_120",
    )
