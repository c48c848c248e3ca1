"""A stand-in for the CUDA runtime and driver under CuPy: see `device`."""

from gpurt_core.adapters.cupy.null_device.device import NullDevice
from gpurt_core.adapters.cupy.null_device.profiles import (
    DeviceProfile,
    known_architectures,
    profile_for,
)

__all__ = [
    "DeviceProfile",
    "NullDevice",
    "known_architectures",
    "profile_for",
]
