"""What a null device says it is: one profile per architecture that is in use.

The limits of an architecture are those of the table of compute capabilities in NVIDIA's CUDA C++
Programming Guide. Sizes and clocks are rounded figures of one product of that architecture, named
beside each entry, from NVIDIA's data sheets; tests should not depend on them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from gpurt_core.errors import UnknownArchitecture

KIB = 1024
MIB = 1024**2
GIB = 1024**3


@dataclass(frozen=True, kw_only=True)
class DeviceProfile:
    """One kind of device."""

    architecture: str
    """As a compiler names it: `sm_90`."""
    memory: int
    """Global memory (bytes)."""
    multiprocessors: int
    threads_per_multiprocessor: int
    blocks_per_multiprocessor: int
    shared_per_multiprocessor: int
    """Shared memory of one multiprocessor (bytes)."""
    shared_per_block_optin: int
    """The most that one block can have when the kernel asks for it (bytes)."""
    reserved_shared_per_block: int = KIB
    """What the system keeps of a block's shared memory (bytes)."""
    shared_per_block: int = 48 * KIB
    """What a block can have without asking (bytes): the same on every architecture."""
    registers_per_multiprocessor: int = 65536
    registers_per_block: int = 65536
    l2_cache: int
    """Bytes."""
    clock_khz: int
    memory_clock_khz: int
    memory_bus_bits: int
    single_to_double: int = 64
    """How much faster single precision is than double precision."""
    integrated: bool = False
    """The GPU shares its memory with the host."""

    @property
    def compute_capability(self) -> tuple[int, int]:
        digits = self.architecture.removeprefix("sm_")
        return int(digits[:-1]), int(digits[-1])

    @property
    def name(self) -> bytes:
        """Marks the device as what it is."""
        return f"gpurt null device ({self.architecture})".encode()

    def with_memory(self, size: int) -> DeviceProfile:
        """The same device with `size` bytes of memory."""
        return replace(self, memory=size)


def _data_center(architecture: str, **figures: Any) -> DeviceProfile:
    """Limits of 9.0 and the data center parts since."""
    return DeviceProfile(
        architecture=architecture,
        threads_per_multiprocessor=2048,
        blocks_per_multiprocessor=32,
        shared_per_multiprocessor=228 * KIB,
        shared_per_block_optin=227 * KIB,
        single_to_double=2,
        **figures,
    )


def _desktop(
    architecture: str, *, blocks: int = 24, integrated: bool = False, **figures: Any
) -> DeviceProfile:
    """Limits of 8.6, 8.9 and 12.x."""
    return DeviceProfile(
        architecture=architecture,
        threads_per_multiprocessor=1536,
        blocks_per_multiprocessor=blocks,
        shared_per_multiprocessor=100 * KIB,
        shared_per_block_optin=99 * KIB,
        integrated=integrated,
        **figures,
    )


_PROFILES = (
    DeviceProfile(  # T4
        architecture="sm_75",
        memory=16 * GIB,
        multiprocessors=40,
        threads_per_multiprocessor=1024,
        blocks_per_multiprocessor=16,
        shared_per_multiprocessor=64 * KIB,
        shared_per_block_optin=64 * KIB,
        reserved_shared_per_block=0,
        l2_cache=4 * MIB,
        clock_khz=1_590_000,
        memory_clock_khz=5_001_000,
        memory_bus_bits=256,
        single_to_double=32,
    ),
    DeviceProfile(  # A100
        architecture="sm_80",
        memory=80 * GIB,
        multiprocessors=108,
        threads_per_multiprocessor=2048,
        blocks_per_multiprocessor=32,
        shared_per_multiprocessor=164 * KIB,
        shared_per_block_optin=163 * KIB,
        l2_cache=40 * MIB,
        clock_khz=1_410_000,
        memory_clock_khz=1_593_000,
        memory_bus_bits=5120,
        single_to_double=2,
    ),
    _desktop(  # RTX 3090
        "sm_86",
        blocks=16,
        memory=24 * GIB,
        multiprocessors=82,
        l2_cache=6 * MIB,
        clock_khz=1_695_000,
        memory_clock_khz=9_751_000,
        memory_bus_bits=384,
    ),
    DeviceProfile(  # Jetson AGX Orin
        architecture="sm_87",
        memory=64 * GIB,
        multiprocessors=16,
        threads_per_multiprocessor=1536,
        blocks_per_multiprocessor=16,
        shared_per_multiprocessor=164 * KIB,
        shared_per_block_optin=163 * KIB,
        l2_cache=4 * MIB,
        clock_khz=1_300_000,
        memory_clock_khz=1_600_000,
        memory_bus_bits=256,
        integrated=True,
    ),
    _desktop(  # no product is described publicly: the limits of 8.6, the size of a small Orin
        "sm_88",
        blocks=16,
        integrated=True,
        memory=12 * GIB,
        multiprocessors=12,
        l2_cache=2 * MIB,
        clock_khz=1_000_000,
        memory_clock_khz=1_600_000,
        memory_bus_bits=128,
    ),
    _desktop(  # RTX 4090
        "sm_89",
        memory=24 * GIB,
        multiprocessors=128,
        l2_cache=72 * MIB,
        clock_khz=2_520_000,
        memory_clock_khz=10_501_000,
        memory_bus_bits=384,
    ),
    _data_center(  # H100 SXM
        "sm_90",
        memory=80 * GIB,
        multiprocessors=132,
        l2_cache=50 * MIB,
        clock_khz=1_980_000,
        memory_clock_khz=2_619_000,
        memory_bus_bits=5120,
    ),
    _data_center(  # B200
        "sm_100",
        memory=180 * GIB,
        multiprocessors=148,
        l2_cache=126 * MIB,
        clock_khz=1_965_000,
        memory_clock_khz=3_996_000,
        memory_bus_bits=8192,
    ),
    _data_center(  # B300
        "sm_103",
        memory=270 * GIB,
        multiprocessors=148,
        l2_cache=126 * MIB,
        clock_khz=1_920_000,
        memory_clock_khz=3_996_000,
        memory_bus_bits=8192,
    ),
    DeviceProfile(  # Jetson Thor
        architecture="sm_110",
        memory=128 * GIB,
        multiprocessors=20,
        threads_per_multiprocessor=1536,
        blocks_per_multiprocessor=24,
        shared_per_multiprocessor=228 * KIB,
        shared_per_block_optin=227 * KIB,
        l2_cache=32 * MIB,
        clock_khz=1_570_000,
        memory_clock_khz=4_266_000,
        memory_bus_bits=256,
        integrated=True,
    ),
    _desktop(  # RTX 5090
        "sm_120",
        memory=32 * GIB,
        multiprocessors=170,
        l2_cache=96 * MIB,
        clock_khz=2_407_000,
        memory_clock_khz=14_001_000,
        memory_bus_bits=512,
    ),
    _desktop(  # GB10
        "sm_121",
        integrated=True,
        memory=128 * GIB,
        multiprocessors=48,
        l2_cache=24 * MIB,
        clock_khz=2_418_000,
        memory_clock_khz=4_266_000,
        memory_bus_bits=256,
    ),
)

_BY_ARCHITECTURE = {profile.architecture: profile for profile in _PROFILES}

_SPELLING = re.compile(r"(?:sm_?|compute_?)?(\d{1,2})\.?(\d)[af]?")
"""`sm_90`, `sm_90a`, `compute_90`, `90`, `9.0`: suffixes choose instructions, not a device."""


def known_architectures() -> tuple[str, ...]:
    """The architectures that have a profile, oldest first."""
    return tuple(_BY_ARCHITECTURE)


def profile_for(architecture: str | int) -> DeviceProfile:
    """The profile of an architecture, spelled `sm_90`, `sm_90a`, `compute_90`, `9.0` or `90`.

    One that is newer than this table, and that the installed NVRTC compiles for, has the figures
    of the newest older one. Raises `UnknownArchitecture` for any other.
    """
    found = _SPELLING.fullmatch(str(architecture).strip().lower())
    if found is not None:
        name = f"sm_{found[1]}{found[2]}"
        profile = _BY_ARCHITECTURE.get(name) or _newer_than_the_table(name)
        if profile is not None:
            return profile
    raise UnknownArchitecture(str(architecture), known_architectures())


def _newer_than_the_table(name: str) -> DeviceProfile | None:
    number = int(name.removeprefix("sm_"))
    older = [p for p in _PROFILES if int(p.architecture.removeprefix("sm_")) < number]
    if not older or number not in compiled_architectures():
        return None
    return replace(older[-1], architecture=name)


def compiled_architectures() -> tuple[int, ...]:
    """What the installed NVRTC compiles for (90 for sm_90); empty where there is no NVRTC."""
    try:
        from cupy_backends.cuda.libs import nvrtc

        return tuple(int(number) for number in nvrtc.getSupportedArchs())
    except (ImportError, RuntimeError):
        return ()
