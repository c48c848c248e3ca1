"""A number per thread that machine code reads without Python: 0 until the thread sets one."""

from __future__ import annotations

import ctypes

from gpurt_core.adapters.cupy.null_device.shim import OneCall
from gpurt_core.errors import NullDeviceUnavailable


class ThreadNumber:
    """One number for each thread of the process, also for threads that Python did not start."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None)
        key = ctypes.c_uint()
        if libc.pthread_key_create(ctypes.byref(key), None) != 0:
            raise NullDeviceUnavailable("this process has no thread-specific storage left")
        self._key = key.value
        self._set = libc.pthread_setspecific
        self._set.argtypes = [ctypes.c_uint, ctypes.c_void_p]
        self._get = libc.pthread_getspecific
        self._get.argtypes = [ctypes.c_uint]
        self._get.restype = ctypes.c_size_t

    def get(self) -> int:
        """That of the calling thread."""
        number: int = self._get(self._key)
        return number

    def set(self, value: int) -> None:
        """Sets that of the calling thread."""
        self._set(self._key, value)

    @property
    def reader(self) -> OneCall:
        """A C function that returns that of the calling thread."""
        address = ctypes.cast(self._get, ctypes.c_void_p).value or 0
        return OneCall(address, self._key)
