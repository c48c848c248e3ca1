"""A CPU that is newer than the LLVM inside PoCL: tells PoCL of an older one.

LLVM calls a CPU that it does not know "generic". PoCL hands that name on to clang, which knows no
CPU of that name on x86, and so no kernel compiles at all (pocl/pocl#1049). PoCL has no setting for
it. So the name, which the device's record in PoCL points to, is replaced by the x86-64 level that
the CPU has. The record is read and written through `/proc/self/mem`, where an address that is not
there is an error and no crash. Where anything is not as expected, nothing is changed.
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path
from typing import Any

from gpurt_core.servers.opencl import pocl

_UNKNOWN = b"generic\0"
_RECORD_BYTES = 1024
"""How far into a device's record is looked, which is longer: in PoCL 3.0 the name is at 640."""
_POINTER = struct.calcsize("P")
_LOWEST_ADDRESS = 1 << 16

_LEVELS = {
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
    "x86-64-v3": "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave",
    "x86-64-v2": "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3",
}
"""The levels of the x86-64 psABI, the highest first, and what the kernel calls what each adds."""

_kept: dict[str, ctypes.Array[ctypes.c_char]] = {}
"""Names that PoCL points to: never freed."""


def known_cpu(flags: set[str]) -> str:
    """The highest x86-64 level that a CPU with these flags has."""
    names = list(_LEVELS)
    for place, name in enumerate(names):
        if all(set(_LEVELS[below].split()) <= flags for below in names[place:]):
            return name
    return "x86-64"


def target_cpu(device: Any) -> str | None:
    """The CPU that PoCL compiles for where it was told of one by `teach`; else `None`."""
    return _flags_level() if _is_unknown(device) else None


def teach(device: Any) -> bool:
    """Tells PoCL of a CPU that its LLVM knows, where it needs that; whether it did."""
    if not _is_unknown(device):
        return False
    name = _flags_level()
    if name is None:
        return False
    try:
        memory = os.open("/proc/self/mem", os.O_RDWR)
    except OSError:
        return False
    try:
        return _replace(memory, device.int_ptr, name)
    finally:
        os.close(memory)


def _is_unknown(device: Any) -> bool:
    """PoCL's version of a device ends in the name of its CPU."""
    on_x86 = "-x86_64-" in device.version and device.version.endswith("-generic")
    return bool(device.platform.name == pocl.PLATFORM and on_x86)


def _flags_level() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    flags = next((line for line in lines if line.startswith("flags")), None)
    return None if flags is None else known_cpu(set(flags.partition(":")[2].split()))


def _replace(memory: int, record: int, name: str) -> bool:
    text = _kept.setdefault(name, ctypes.create_string_buffer(name.encode()))
    pointer = struct.pack("P", ctypes.addressof(text))
    for offset, address in _pointers(memory, record):
        if _text_at(memory, address) == _UNKNOWN:
            return os.pwrite(memory, pointer, record + offset) == _POINTER
    return False


def _pointers(memory: int, record: int) -> list[tuple[int, int]]:
    """What may be addresses in the record, and where they are in it."""
    try:
        content = os.pread(memory, _RECORD_BYTES, record)
    except OSError:
        return []
    whole = content[: len(content) // _POINTER * _POINTER]
    values = [value for (value,) in struct.iter_unpack("P", whole)]
    return [(i * _POINTER, v) for i, v in enumerate(values) if _LOWEST_ADDRESS < v < 1 << 47]


def _text_at(memory: int, address: int) -> bytes:
    try:
        return os.pread(memory, len(_UNKNOWN), address)
    except OSError:
        return b""
