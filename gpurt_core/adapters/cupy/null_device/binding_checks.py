"""What CuPy's bindings refuse before they call a library: work on a stream that is captured, and
odd numbers of normally distributed values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]

_NAMES = {"cublas": "cuBLAS", "cusolver": "cuSOLVER", "cusparse": "cuSPARSE", "curand": "cuRAND"}

_WITHOUT_A_STREAM = {
    "cublas": r"zdotc",
    "cusolver": r"\w*(syevj|heevj|xsyevd|xgeev|csrlsv|csreig|potr[fs]Batched|[cz]ormqr)\w*"
    r"|\w*gesvda\w+Size",
    "cusparse": r"spGEMM\w+|sp\w+_bufferSize|gather|(sparse|dense|csr2csc)\w+_bufferSize",
    "curand": r"(?!generate)\w+",
}
"""Functions that work on whatever stream the handle had, in CuPy 14.2: it does not look then."""

_SETTINGS = re.compile(
    r"(?!createIdentityPermutation)(_?(get|set)[A-Z]\w*|\w*(Get|Set|[cC]reate|[dD]estroy)\w*)"
)
"""Functions that only make, change or ask an object. `sgetrf` is none of them."""


def checks_capture(library: str, name: str) -> bool:
    """Whether CuPy sets the stream of the handle in this function, and refuses a captured one."""
    if name == "setStream":
        return True
    settings = _SETTINGS.fullmatch(name) is not None
    return not settings and re.fullmatch(_WITHOUT_A_STREAM[library], name) is None


def without_capture(library: str, function: Function) -> Function:
    """`function`, which raises `NotImplementedError` while the current stream is captured.

    It may be called without arguments: C callers hand on none.
    """
    message = f"calling {_NAMES[library]} API during stream capture is currently unsupported"

    def checked(*arguments: Any, **keywords: Any) -> Any:
        from cupy.cuda import get_current_stream, runtime

        if runtime.streamIsCapturing(get_current_stream().ptr):
            raise NotImplementedError(message)
        return function(*arguments, **keywords)

    return checked


def even_only(name: str, function: Function) -> Function:
    """`function`, a generator of normally distributed values, which makes them in pairs."""

    def checked(*arguments: Any, **keywords: Any) -> Any:
        n = arguments[2] if len(arguments) > 2 else keywords.get("n", 0)
        if n % 2 == 1:
            raise ValueError(
                f"{name} generates even numbers of values only, and {n} were asked for"
            )
        return function(*arguments, **keywords)

    return checked
