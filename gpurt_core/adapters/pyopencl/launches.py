"""Every launch of PyOpenCL code ends in one function: here is what stands in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyopencl
import pyopencl.tools

from gpurt_core.adapters.pyopencl.kernels import SteeredKernel, drop_launch
from gpurt_core.adapters.pyopencl.patches import Patches
from gpurt_core.adapters.pyopencl.steering import Steering

if TYPE_CHECKING:
    from gpurt_core.execution import ReadMonitor

_LAUNCH = "enqueue_nd_range_kernel"
_PROBE = "match_dtype_to_c_struct"
_OPTIONAL = ("global_work_offset", "wait_for", "g_times_l", "allow_empty_ndrange")
"""What may come after the sizes, in this order."""


def steer_launches(patches: Patches, steering: Steering) -> None:
    """Has launches do what the modes in force say, whoever made their kernels."""

    def enqueue_nd_range_kernel(
        queue: Any,
        kernel: Any,
        global_work_size: Any,
        local_work_size: Any,
        *more: Any,
        **keywords: Any,
    ) -> Any:
        __tracebackhide__ = True
        if type(kernel) is SteeredKernel:
            kernel = kernel.reached(queue)
        if not steering.verdict(queue).discards:
            return original(queue, kernel, global_work_size, local_work_size, *more, **keywords)
        given = {**dict(zip(_OPTIONAL, more, strict=False)), **keywords}
        return drop_launch(kernel, queue, global_work_size, local_work_size, given)

    original = patches.replace(pyopencl._cl, _LAUNCH, enqueue_nd_range_kernel)
    patches.replace(pyopencl, _LAUNCH, enqueue_nd_range_kernel)


def let_probes_run(patches: Patches, steering: Steering, reads: ReadMonitor) -> None:
    """PyOpenCL asks the device how it lays out a type, once, to write kernels with it.

    That runs in every mode, and counts neither as a kernel nor as a read of whoever came first.
    """

    def match_dtype_to_c_struct(*args: Any, **keywords: Any) -> Any:
        with steering.executing_uncounted(), reads.overlooking():
            return original(*args, **keywords)

    original = patches.replace(pyopencl.tools, _PROBE, match_dtype_to_c_struct)
