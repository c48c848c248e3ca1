"""What libraries write into the host's memory: set here, so that nobody sees what was there before.

What a library computes for the host counts as one read: it is as meaningless as all that is read.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpurt_core.adapters.cupy.null_device.memory import MemoryType

Function = Callable[..., Any]


@dataclass(frozen=True)
class HostResult:
    """A result that functions write to an address they are given."""

    names: str
    """The functions: a regular expression for all of the name."""
    argument: int
    """The place of the address among the arguments."""
    value: Callable[[Sequence[Any]], int] | None
    """What the 32-bit number is, by the arguments; None leaves what the caller has there."""
    computed: bool = True
    """Whether it depends on the contents of arrays."""


_RESULTS = {
    "cublas": (
        HostResult(r"[sdcz]getrsBatched", 9, lambda _: 0, computed=False),  # a wrong argument
        HostResult(r"i[sdcz]am(ax|in)|([sd]|sc|dz)(asum|nrm2)", 4, None),
        HostResult(r"[sdcz]dot[cu]?", 6, None),
    ),
    "cusolver": (
        HostResult(r"[sdcz]csrlsv(qr|chol)", 11, lambda _: -1),  # the row that is singular: none
    ),
    "cusparse": (
        HostResult(r"x\w+_zeroPivot", 2, lambda _: -1),
        HostResult(r"[sdcz]nnz", 8, lambda a: a[2] * a[3]),  # rows and columns
        HostResult(r"xcsrgeam2Nnz", 13, lambda a: a[4] + a[8]),  # entries of both
    ),
}
"""By library. Entries are as many as there can be: their number decides what runs next, and on no
entries nothing does."""


def host_result(library: str, name: str) -> HostResult | None:
    """The result that a function of a binding writes for the host, if it does."""
    found = (r for r in _RESULTS.get(library, ()) if re.fullmatch(r.names, name))
    return next(found, None)


def writing(result: HostResult, function: Function) -> Function:
    """`function`, which writes `result` first where its address is the host's."""

    def writes(*arguments: Any) -> Any:
        if len(arguments) > result.argument and _is_host(arguments[result.argument]):
            if result.computed:
                record_read()
            if result.value is not None:
                value = result.value(arguments)
                ctypes.c_int32.from_address(arguments[result.argument]).value = value
        return function(*arguments)

    return writes


def _is_host(address: int) -> bool:
    from cupy_backends.cuda.api import runtime

    return runtime.pointerGetAttributes(address).type in (MemoryType.UNREGISTERED, MemoryType.HOST)


def record_read() -> None:
    """Counts a read of what a library has computed."""
    from gpurt_core.adapters.cupy.null_device.device import NullDevice

    device = NullDevice.current()
    if device is not None:
        device.reads.record()
