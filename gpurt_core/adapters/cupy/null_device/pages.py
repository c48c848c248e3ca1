"""Pages of host memory that are reserved, and cost nothing until they are written."""

from __future__ import annotations

import ctypes
import mmap

PAGE = mmap.PAGESIZE

_PROT_READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
_NO_RESERVE = 0x4000  # MAP_NORESERVE of Linux on x86-64 and aarch64; Python names it from 3.13 on
_FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_mmap = _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_munmap = _libc.munmap
_munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_madvise = _libc.madvise
_madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_copy = _libc.memmove  # through CDLL, not ctypes.memmove: releases the GIL
_copy.restype = ctypes.c_void_p
_copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_fill = _libc.memset
_fill.restype = ctypes.c_void_p
_fill.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]


_compare = _libc.memcmp
_compare.restype = ctypes.c_int
_compare.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_ZEROS = bytes(1 << 20)


def reserve(size: int) -> int | None:
    """The address of `size` bytes that read as zero, or None where there is no room for them."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    address = _mmap(None, size, _PROT_READ_WRITE, flags, -1, 0)
    return None if address in (None, _FAILED) else int(address)


def release(address: int, size: int) -> None:
    """Gives pages of `reserve` back."""
    _munmap(address, size)


def copy(target: int, source: int, size: int) -> None:
    """Copies `size` bytes, which may overlap."""
    _copy(target, source, size)


def write(target: int, content: bytes) -> None:
    """Copies `content` there."""
    _copy(target, content, len(content))


def zero_where_needed(target: int, size: int) -> None:
    """Zeros `size` bytes in memory of any kind, and writes only where they are not zero already: so
    pages that nobody has touched go on costing nothing."""
    for start in range(target, target + size, len(_ZEROS)):
        length = min(len(_ZEROS), target + size - start)
        if _compare(start, _ZEROS, length) != 0:
            _fill(start, 0, length)


def fill_in_place(target: int, value: int, size: int) -> None:
    """Writes every one of `size` bytes, in memory of any kind."""
    _fill(target, value & 0xFF, size)


def fill(target: int, value: int, size: int) -> None:
    """Writes `size` bytes of `value` into pages of `reserve`; zeros cost no memory."""
    if value & 0xFF == 0:
        _zero(target, size)
    else:
        _fill(target, value & 0xFF, size)


def _zero(target: int, size: int) -> None:
    """Whole pages are dropped, so that they read as zero again; only the rest is written."""
    first = -(-target // PAGE) * PAGE
    last = (target + size) // PAGE * PAGE
    if last - first < 16 * PAGE:  # below that, the call costs more than writing
        _fill(target, 0, size)
        return
    _fill(target, 0, first - target)
    _madvise(first, last - first, mmap.MADV_DONTNEED)
    _fill(last, 0, target + size - last)
