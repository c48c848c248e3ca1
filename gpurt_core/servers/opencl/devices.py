"""The OpenCL devices that there are, in the order of their platforms, and what they are called.

Asked for once: handles of devices, and of their parts, are kept for the life of the process.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gpurt_core.errors import NoDevice
from gpurt_core.execution.forking import lock_held_over_forks
from gpurt_core.servers.addresses import DeviceAddress, Part
from gpurt_core.servers.opencl import host_cpu, pocl

_lock = lock_held_over_forks()
_found: dict[str, list[Any]] = {}
_parts: dict[tuple[int, int], list[Any]] = {}
_taught: set[int] = set()
_loaded_by: list[int] = []
"""The process that loaded OpenCL here: its threads are not in a fork of it."""


def find_devices() -> list[Any]:
    """All devices; raises `NoDevice`, which says why there is none."""
    with _lock:
        if _loaded_by and _loaded_by[0] != os.getpid():
            raise NoDevice(
                "opencl",
                [
                    f"OpenCL was loaded by process {_loaded_by[0]}, which this one was forked "
                    "from, and does not survive that: start this one with 'spawn'"
                ],
            )
        if not _found:
            _found["all"] = _ask_for_devices()
            _loaded_by.append(os.getpid())
        return _found["all"]


def _ask_for_devices() -> list[Any]:
    pocl.settle()
    try:
        import pyopencl

        from gpurt_core.servers.opencl import pyopencl_folder
    except ImportError as error:
        reason = f"PyOpenCL cannot be imported ({error}): pip install 'pytest-gpurt[opencl]'"
        raise NoDevice("opencl", [reason]) from error
    pyopencl_folder.settle()
    reasons, devices = [], []
    for platform in _platforms(pyopencl):
        found = _devices_of(platform, pyopencl)
        devices += found
        if not found:
            is_pocl = platform.name == pocl.PLATFORM
            reasons.append(pocl.why_no_device() if is_pocl else f"{platform.name} has no device")
    if not devices:
        raise NoDevice("opencl", reasons)
    teach(devices)
    return devices


def teach(devices: Sequence[Any]) -> None:
    """Sees to it that PoCL compiles for these devices, on a CPU that it does not know, too."""
    for device in devices:
        if device.int_ptr not in _taught:
            _taught.add(device.int_ptr)
            host_cpu.teach(device)


def _platforms(pyopencl: Any) -> list[Any]:
    try:
        platforms = pyopencl.get_platforms()
    except pyopencl.Error:
        platforms = []
    if not platforms:
        reason = "there is no OpenCL platform: pip install pocl-binary-distribution"
        raise NoDevice("opencl", [reason])
    return list(platforms)


def _devices_of(platform: Any, pyopencl: Any) -> list[Any]:
    try:
        return list(platform.get_devices())
    except pyopencl.Error:  # some platforms say it so
        return []


def device_at(address: DeviceAddress) -> Any:
    """The device, or part of one, at an address; raises `NoDevice`."""
    devices = find_devices()
    if address.device >= len(devices):
        raise NoDevice(str(address), [f"the last OpenCL device is opencl:{len(devices) - 1}"])
    device = devices[address.device]
    return device if address.part is None else _part(device, address, address.part)


def _part(device: Any, address: DeviceAddress, part: Part) -> Any:
    import pyopencl

    units = device.max_compute_units // part.of
    if not units:
        reason = f"{device.name} has {device.max_compute_units} compute units, fewer than {part.of}"
        raise NoDevice(str(address), [reason])
    with _lock:
        parts = _parts.get((address.device, part.of))
        if parts is None:
            equally = pyopencl.device_partition_property.EQUALLY
            try:
                parts = device.create_sub_devices([equally, units])
            except pyopencl.Error as error:
                reason = f"{device.name} cannot be divided into {part.of} parts ({error})"
                raise NoDevice(str(address), [reason]) from error
            _parts[address.device, part.of] = parts
    return parts[part.number]


@lru_cache(maxsize=64)
def compiler_identity(device: Any) -> str:
    """The compiler of a device and what it compiles for: a binary for one is one for the other."""
    platform = device.platform
    told = host_cpu.target_cpu(device)
    parts = [
        platform.name,
        platform.version,
        device.vendor,
        device.name,
        device.version,
        device.driver_version,
        *([] if told is None else [told]),
    ]
    return ", ".join(" ".join(part.split()) for part in parts)


def fingerprint(device: Any) -> str:
    """A device, its driver and its compiler, with their versions, and how much of it there is."""
    return f"{compiler_identity(device)}, {device.max_compute_units} compute units"
