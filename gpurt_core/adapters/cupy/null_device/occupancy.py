"""How many blocks of a kernel a multiprocessor holds at once.

The rules are those of the occupancy calculator that NVIDIA ships with Nsight Compute.
"""

from __future__ import annotations

from gpurt_core.adapters.cupy.null_device.images import Kernel
from gpurt_core.adapters.cupy.null_device.profiles import DeviceProfile

_WARP = 32
_REGISTER_GRANULE = 256  # of one warp
_SHARED_GRANULE = 128  # bytes of one block


def max_threads(kernel: Kernel, profile: DeviceProfile) -> int:
    """The most threads that one block of the kernel can have."""
    if kernel.registers == 0:
        return kernel.max_threads
    warps = profile.registers_per_block // _registers_of_warp(kernel)
    return max(1, min(kernel.max_threads, warps * _WARP))


def active_blocks(
    kernel: Kernel, profile: DeviceProfile, block_size: int, dynamic_shared: int
) -> int:
    """Blocks of `block_size` threads that one multiprocessor runs at once; 0 when none fits."""
    if block_size > max_threads(kernel, profile):
        return 0
    warps = -(-block_size // _WARP)
    limits = [
        profile.blocks_per_multiprocessor,
        profile.threads_per_multiprocessor // (warps * _WARP),
    ]
    if kernel.registers:
        limits.append(profile.registers_per_multiprocessor // (_registers_of_warp(kernel) * warps))
    shared = kernel.shared_size + dynamic_shared
    if shared > profile.shared_per_block_optin:
        return 0
    taken = _up(shared + profile.reserved_shared_per_block, _SHARED_GRANULE)
    if taken:
        limits.append(profile.shared_per_multiprocessor // taken)
    return min(limits)


def best_block_size(
    kernel: Kernel, profile: DeviceProfile, dynamic_shared: int, limit: int
) -> tuple[int, int]:
    """(blocks of the whole device, threads of a block) that keep most threads at work.

    Larger blocks win a tie; a `limit` of 0 is none.
    """
    most = max_threads(kernel, profile)
    most = min(most, limit) if limit > 0 else most
    sizes = [most, *range(most // _WARP * _WARP, 0, -_WARP)]
    threads, size, blocks = max(
        ((count := active_blocks(kernel, profile, n, dynamic_shared)) * n, n, count) for n in sizes
    )
    return blocks * profile.multiprocessors, size if threads else most


def _registers_of_warp(kernel: Kernel) -> int:
    return _up(kernel.registers * _WARP, _REGISTER_GRANULE)


def _up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
