"""PyOpenCL's own calls, as they are before a seam stands in front of them.

A server decides by itself what its launches do, and tells of its reads: what it asks of PyOpenCL is
meant for the device. Whoever replaces one of these imports this module first.
"""

from __future__ import annotations

from typing import Any

from pyopencl import _cl

Kernel: Any = _cl.Kernel
enqueue_nd_range_kernel: Any = _cl.enqueue_nd_range_kernel
enqueue_read_buffer: Any = _cl._enqueue_read_buffer
