"""What OpenCL would refuse of a launch that is dropped: raised as PyOpenCL raises it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyopencl

_ROUTINE = "clEnqueueNDRangeKernel"


def check_launch(
    kernel: Any,
    queue: Any,
    global_size: Sequence[int],
    local_size: Sequence[int] | None,
    keywords: Mapping[str, Any],
) -> None:
    """Raises `pyopencl.LogicError` for sizes that do not suit the kernel, which is loaded."""
    device, info = queue.device, pyopencl.kernel_work_group_info
    wanted = tuple(kernel.get_work_group_info(info.COMPILE_WORK_GROUP_SIZE, device))
    if local_size is None:
        if any(wanted):
            _refuse("INVALID_WORK_GROUP_SIZE")
        return
    local = (*local_size, 1, 1)[:3]
    if len(local_size) != len(global_size):
        _refuse("INVALID_VALUE", "global/local work sizes have differing dimensions")
    if any(wanted) and local != wanted:
        _refuse("INVALID_WORK_GROUP_SIZE")
    if math.prod(local) > kernel.get_work_group_info(info.WORK_GROUP_SIZE, device):
        _refuse("INVALID_WORK_GROUP_SIZE")
    if any(n > most for n, most in zip(local, device.max_work_item_sizes, strict=False)):
        _refuse("INVALID_WORK_ITEM_SIZE")
    uneven = any(n % size for n, size in zip(global_size, local_size, strict=True) if size)
    if uneven and not keywords.get("g_times_l") and not _takes_uneven(device):
        _refuse("INVALID_WORK_GROUP_SIZE")


def _takes_uneven(device: Any) -> bool:
    """Whether the last work-groups may be smaller: not in 1.x, in 2.x, where it says so in 3.0."""
    version = device.platform._get_cl_version()
    if version < (3, 0):
        return bool(version >= (2, 0))
    try:
        return bool(device.non_uniform_work_group_support)
    except pyopencl.Error:
        return True


def _refuse(code: str, message: str = "") -> None:
    record = pyopencl._cl._ErrorRecord(
        msg=message, code=getattr(pyopencl.status_code, code), routine=_ROUTINE
    )
    raise pyopencl.LogicError(record)
