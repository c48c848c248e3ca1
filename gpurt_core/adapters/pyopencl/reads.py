"""Seeing what PyOpenCL code reads back: copies to the host, and memory mapped to be read.

What is read without a call of OpenCL is not seen: fine-grained shared memory, and the host's own
array under a buffer that uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyopencl

from gpurt_core.adapters.pyopencl.patches import Patches
from gpurt_core.execution import ReadMonitor

_COPIES = ("_enqueue_read_buffer", "_enqueue_read_buffer_rect", "_enqueue_read_image")
_MAPPINGS = ("enqueue_map_buffer", "enqueue_map_image")


def watch_reads(patches: Patches, monitor: ReadMonitor) -> None:
    """Has `monitor` told of each read before it happens."""
    native = pyopencl._cl
    for name in _COPIES:
        if name in vars(native):
            patches.replace(native, name, _telling(vars(native)[name], monitor))
    for name in _MAPPINGS:
        ours = _telling_of_mapping(vars(native)[name], monitor, flags_at=2)
        patches.replace(native, name, ours)
        patches.replace(pyopencl, name, ours)
    if "_enqueue_svm_map" in vars(native):
        original = native._enqueue_svm_map
        patches.replace(
            native, "_enqueue_svm_map", _telling_of_mapping(original, monitor, flags_at=2)
        )
        patches.replace(
            native, "_enqueue_svm_memcpy", _telling_of_svm_copy(native._enqueue_svm_memcpy, monitor)
        )


def _telling(original: Callable[..., Any], monitor: ReadMonitor) -> Callable[..., Any]:
    def read(*args: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        monitor.record()
        return original(*args, **keywords)

    return read


def _telling_of_mapping(
    original: Callable[..., Any], monitor: ReadMonitor, *, flags_at: int
) -> Callable[..., Any]:
    """Mapped to be written only, nothing is read."""

    def map_memory(*args: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        flags = keywords.get("flags", args[flags_at] if len(args) > flags_at else 0)
        if flags & pyopencl.map_flags.READ:
            monitor.record()
        return original(*args, **keywords)

    return map_memory


def _telling_of_svm_copy(original: Callable[..., Any], monitor: ReadMonitor) -> Callable[..., Any]:
    """A copy to the host has its array dressed up as shared memory."""

    def copy(queue: Any, is_blocking: bool, dst: Any, src: Any, *args: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        if isinstance(dst, pyopencl.SVM) and not isinstance(src, pyopencl.SVM):
            monitor.record()
        return original(queue, is_blocking, dst, src, *args, **keywords)

    return copy
