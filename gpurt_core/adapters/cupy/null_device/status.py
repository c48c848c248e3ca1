"""The errors of CUDA as CuPy raises them, made without a driver.

`CUDARuntimeError` works on any machine: CuPy has the runtime linked in. `CUDADriverError` asks the
driver for its own name and text, so `teach_driver_errors` gives the class an `__init__` that does
not; type, `.status`, text and pickling stay as they are.
"""

from __future__ import annotations

import contextlib
import enum
from typing import Any, NoReturn


class RuntimeStatus(enum.IntEnum):
    """`cudaError_t`, as far as the null device raises it."""

    INVALID_VALUE = 1
    MEMORY_ALLOCATION = 2
    INVALID_CONFIGURATION = 9
    INVALID_PITCH_VALUE = 12
    INVALID_TEXTURE = 18
    INVALID_CHANNEL_DESCRIPTOR = 20
    INVALID_MEMCPY_DIRECTION = 21
    INVALID_FILTER_SETTING = 26
    INVALID_NORM_SETTING = 27
    INVALID_DEVICE = 101
    UNSUPPORTED_LIMIT = 215
    PEER_ACCESS_UNSUPPORTED = 217
    OPERATING_SYSTEM = 304
    INVALID_RESOURCE_HANDLE = 400
    ILLEGAL_STATE = 401
    NOT_READY = 600
    PEER_ACCESS_ALREADY_ENABLED = 704
    PEER_ACCESS_NOT_ENABLED = 705
    HOST_MEMORY_ALREADY_REGISTERED = 712
    HOST_MEMORY_NOT_REGISTERED = 713
    NOT_SUPPORTED = 801
    STREAM_CAPTURE_UNSUPPORTED = 900
    STREAM_CAPTURE_INVALIDATED = 901
    STREAM_CAPTURE_UNMATCHED = 903
    STREAM_CAPTURE_UNJOINED = 904
    STREAM_CAPTURE_IMPLICIT = 906
    CAPTURED_EVENT = 907


class DriverStatus(enum.IntEnum):
    """`CUresult`, as far as the null device raises it."""

    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_DEINITIALIZED = 4
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_DEVICE = 101
    CUDA_ERROR_INVALID_IMAGE = 200
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221
    CUDA_ERROR_INVALID_SOURCE = 300
    CUDA_ERROR_FILE_NOT_FOUND = 301
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701
    CUDA_ERROR_LAUNCH_FAILED = 719
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720
    CUDA_ERROR_NOT_SUPPORTED = 801
    CUDA_ERROR_UNKNOWN = 999


def runtime_error(status: RuntimeStatus) -> Exception:
    """CuPy's own `CUDARuntimeError` of this status."""
    from cupy_backends.cuda.api import runtime

    return _exception(runtime.CUDARuntimeError(int(status)))


def fail(status: RuntimeStatus) -> NoReturn:
    """Raises CuPy's own `CUDARuntimeError`."""
    raise runtime_error(status)


def driver_error(status: DriverStatus) -> Exception:
    """CuPy's own `CUDADriverError` of this status."""
    from cupy_backends.cuda.api import driver

    return _exception(driver.CUDADriverError(int(status)))


def fail_driver(status: DriverStatus) -> NoReturn:
    """Raises CuPy's own `CUDADriverError`."""
    raise driver_error(status)


def teach_driver_errors(error_class: type[Exception]) -> None:
    """Lets `error_class`, CuPy's `CUDADriverError`, be made without a driver."""

    def __init__(self: Any, status: int) -> None:
        self.status = status
        RuntimeError.__init__(self, describe(status))

    error_class.__init__ = __init__  # type: ignore[assignment]


def describe(status: int) -> str:
    """The name and text of a `CUresult`.

    The driver's numbers and texts are those of the runtime since CUDA 10.1; the names differ.
    """
    from cupy_backends.cuda.api import runtime

    name, _, text = str(runtime.CUDARuntimeError(status)).partition(": ")
    with contextlib.suppress(ValueError):  # the runtime's name is the best there is
        name = DriverStatus(status).name
    return f"{name}: {text}"


def _exception(error: object) -> Exception:
    assert isinstance(error, Exception)
    return error
