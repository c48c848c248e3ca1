"""Machine code that lets a Python exception leave a C function written in Python.

CuPy calls the CUDA runtime through C function pointers and, when one returns its error value, looks
whether a Python exception is set. A `ctypes` callback can be such a function pointer, but `ctypes`
clears every exception before it returns. So each callback gets a small function around it:

    result = callback(arguments...)
    if result == error_value:            # a legitimate value may look like this, too
        PyObject_CallNoArgs(raiser)      # raises what the callback kept, or returns None
        result = returned_value
    return result

`raiser` is a Python callable; raising in it leaves the exception set, which is all that is needed.
A callback keeps its exception per thread (see `capsules`), so threads never see each other's.

What the code relies on, and what it does not do:

- All arguments are integers or pointers, at most `MAX_ARGUMENTS` of them: those that travel in
  registers are passed on untouched (nothing before the call writes to them), those on the stack
  are copied below. A result is an integer, a pointer, a `float`, or a structure that is returned
  through a hidden pointer.
- The caller holds the GIL (or is attached, on a free-threaded build), as callers of `PyObject *`
  functions do. No instruction here touches a Python object, but for the reference to None below.
- The code is written once, into pages that are then made executable and read-only, and lives
  until the process ends: CuPy keeps the addresses.
"""

from __future__ import annotations

import ctypes
import enum
import platform
import struct
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpurt_core.errors import NullDeviceUnavailable

MAX_ARGUMENTS = 14  # launchKernel has 12, and one more travels in front of a hidden pointer


class Result(enum.Enum):
    """How a function returns its result."""

    WORD = "32 bits in the first integer register"
    LONG = "64 bits in the first integer register"
    FLOAT = "32 bits in the first floating point register"
    HIDDEN = "through a pointer to memory of the caller"


@dataclass(frozen=True)
class Guarded:
    """A function around `callback`, which takes `arguments` of 64 bits.

    With `Result.HIDDEN` the callback is handed the pointer in front of its arguments (counted in
    `arguments`), and returns it, or `error` when it failed.
    """

    callback: int
    arguments: int
    result: Result
    error: int
    """The bits of the result that tell a failure."""
    returned: int
    """The bits that the caller expects of a failure."""


@dataclass(frozen=True)
class Constant:
    """A function that returns `value`, or the floating point number 0, and does nothing else.

    `counts` takes a reference to the value, a Python object.
    """

    value: int
    counts: bool = False


@dataclass(frozen=True)
class OneCall:
    """A function that returns what the C function at `target` returns of `argument`."""

    target: int
    argument: int


Stub = Guarded | Constant | OneCall


def none_stub() -> Constant:
    """A function that returns None. None has been immortal since Python 3.12."""
    return Constant(id(None), counts=sys.version_info < (3, 12))


# --- x86-64, System V -----------------------------------------------------------------------------
# Integer arguments: rdi, rsi, rdx, rcx, r8, r9, then the stack, the first at [rsp + 8] on entry.
# A hidden pointer is the first argument, and is returned in rax. rsp is a multiple of 16 at a call.


def _x86_64(stub: Stub, raiser: int, call: int) -> bytes:
    if isinstance(stub, Constant):
        load = b"\x66\x0f\xef\xc0" + _mov_rax(stub.value)  # pxor xmm0, xmm0
        return load + (b"\x48\xff\x00" if stub.counts else b"") + b"\xc3"  # inc [rax]; ret
    if isinstance(stub, OneCall):
        return b"\x48\xbf" + _bits(stub.argument) + _mov_rax(stub.target) + b"\xff\xe0"  # jmp rax
    slots = max(0, stub.arguments - 6)
    frame = 16 + (8 * slots + 15) // 16 * 16
    code = b"\x55\x48\x89\xe5"  # push rbp; mov rbp, rsp
    code += b"\x48\x81\xec" + struct.pack("<i", frame)  # sub rsp, frame
    code += b"\x48\x89\x7d\xf8"  # mov [rbp - 8], rdi: the hidden pointer, if there is one
    for slot in range(slots):
        code += b"\x48\x8b\x85" + struct.pack("<i", 16 + 8 * slot)  # mov rax, [rbp + 16 + ...]
        code += b"\x48\x89\x84\x24" + struct.pack("<i", 8 * slot)  # mov [rsp + ...], rax
    code += _mov_rax(stub.callback) + b"\xff\xd0"  # call rax
    if stub.result is Result.FLOAT:
        code += b"\x66\x0f\x7e\xc0"  # movd eax, xmm0
    code += b"\x48\xb9" + _bits(stub.error)  # mov rcx, error
    wide = stub.result in (Result.LONG, Result.HIDDEN)
    code += b"\x48\x39\xc8" if wide else b"\x39\xc8"  # cmp rax, rcx / cmp eax, ecx
    failed = b"\x48\xbf" + _bits(raiser) + _mov_rax(call) + b"\xff\xd0"  # mov rdi, raiser; call
    failed += _mov_rax(stub.returned)
    if stub.result is Result.FLOAT:
        failed += b"\x66\x0f\x6e\xc0"  # movd xmm0, eax
    code += b"\x75" + bytes([len(failed)]) + failed  # jne past it
    if stub.result is Result.HIDDEN:
        code += b"\x48\x8b\x45\xf8"  # mov rax, [rbp - 8]
    return code + b"\xc9\xc3"  # leave; ret


def _mov_rax(value: int) -> bytes:
    return b"\x48\xb8" + _bits(value)


def _bits(value: int) -> bytes:
    return struct.pack("<Q", value & 0xFFFF_FFFF_FFFF_FFFF)


# --- aarch64, AAPCS64 -----------------------------------------------------------------------------
# Integer arguments: x0 to x7, then the stack, the first at [sp] on entry. A hidden pointer comes
# in x8, and need not be returned. sp is a multiple of 16 at all times. x9 and x16 are free to use.


def _aarch64(stub: Stub, raiser: int, call: int) -> bytes:
    if isinstance(stub, Constant):
        words = [0x2F00E400, *_move(0, stub.value)]  # movi d0, #0
        if stub.counts:  # ldr x9, [x0]; add x9, x9, #1; str x9, [x0]
            words += [0xF9400009, 0x91000529, 0xF9000009]
        return _words([*words, 0xD65F03C0])  # ret
    if isinstance(stub, OneCall):
        return _words([*_move(0, stub.argument), *_move(16, stub.target), 0xD61F0200])  # br x16
    slots = max(0, stub.arguments - 8)
    words = [0xA9BF7BFD, 0x910003FD]  # stp x29, x30, [sp, #-16]!; mov x29, sp
    words.append(0xD10003FF | ((8 * slots + 15) // 16 * 16) << 10)  # sub sp, sp, #frame
    for slot in range(slots):
        words.append(0xF94003A9 | (2 + slot) << 10)  # ldr x9, [x29, #16 + 8 * slot]
        words.append(0xF90003E9 | slot << 10)  # str x9, [sp, #8 * slot]
    if stub.result is Result.HIDDEN:  # the other arguments move up by one register
        assert slots == 0  # and none of them out of one
        words += [0xAA0003E0 | n - 1 << 16 | n for n in range(stub.arguments - 1, 0, -1)]
        words.append(0xAA0803E0)  # mov x0, x8
    words += [*_move(16, stub.callback), 0xD63F0200]  # blr x16
    if stub.result is Result.FLOAT:
        words.append(0x1E260000)  # fmov w0, s0
    wide = stub.result in (Result.LONG, Result.HIDDEN)
    words += [*_move(9, stub.error), 0xEB09001F if wide else 0x6B09001F]  # cmp x0, x9 / w0, w9
    failed = [*_move(0, raiser), *_move(16, call), 0xD63F0200, *_move(0, stub.returned)]
    if stub.result is Result.FLOAT:
        failed.append(0x1E270000)  # fmov s0, w0
    words += [0x54000001 | (len(failed) + 1) << 5, *failed]  # b.ne past it
    return _words([*words, 0x910003BF, 0xA8C17BFD, 0xD65F03C0])  # mov sp, x29; ldp; ret


def _move(register: int, value: int) -> list[int]:
    """movz and three movk: any 64 bits into `register`."""
    parts = [value >> shift & 0xFFFF for shift in (0, 16, 32, 48)]
    words = [0xD2800000 | parts[0] << 5 | register]
    return words + [0xF2800000 | n << 21 | parts[n] << 5 | register for n in (1, 2, 3)]


def _words(words: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(words)}I", *words)


# --- the pages ------------------------------------------------------------------------------------

_ASSEMBLERS: dict[str, Callable[[Stub, int, int], bytes]] = {
    "x86_64": _x86_64,
    "aarch64": _aarch64,
}


def assemble(machine: str, stub: Stub, raiser: int, call: int) -> bytes:
    """The code of one stub; `call` is the address of `PyObject_CallNoArgs`."""
    return _ASSEMBLERS[machine](stub, raiser, call)


def require_supported() -> None:
    """Raises `NullDeviceUnavailable` where there is no code for this machine."""
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _ASSEMBLERS or sys.maxsize < 2**32:
        raise NullDeviceUnavailable(
            f"it needs Linux on {' or '.join(_ASSEMBLERS)} with a 64-bit Python, "
            f"and this is {sys.platform} on {machine}"
        )
    if sysconfig.get_config_var("Py_TRACE_REFS"):
        raise NullDeviceUnavailable("this Python was built with Py_TRACE_REFS")


def publish(stubs: Sequence[Stub], raiser: Callable[[], None]) -> list[int]:
    """Writes the stubs into executable memory; the address of each."""
    require_supported()
    if not stubs:
        return []
    _keep_for_ever(raiser)
    call = ctypes.cast(ctypes.pythonapi.PyObject_CallNoArgs, ctypes.c_void_p).value or 0
    codes = [assemble(platform.machine(), stub, id(raiser), call) for stub in stubs]
    offsets, text = [], b""
    for code in codes:
        offsets.append(len(text))
        text += code + bytes(-len(code) % 16)
    base = _executable(text)
    return [base + offset for offset in offsets]


def _keep_for_ever(raiser: object) -> None:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(raiser))


def _executable(text: bytes) -> int:
    """Pages that hold `text`: never writable and executable at the same time."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    base = libc.mmap(None, len(text), 3, 0x22, -1, 0)  # read and write; private, anonymous
    if base in (None, ctypes.c_void_p(-1).value):
        raise NullDeviceUnavailable("no memory for its code")
    ctypes.memmove(base, text, len(text))
    if libc.mprotect(base, len(text), 5) != 0:  # read and execute
        raise NullDeviceUnavailable("this system forbids code made at run time (mprotect)")
    _flush_instructions(base, len(text))
    return int(base)


def _flush_instructions(base: int, size: int) -> None:
    """aarch64 has no coherent instruction cache. Linux flushes a page that becomes executable;
    this is for the kernels that would not."""
    if platform.machine() == "aarch64":
        try:
            flush = ctypes.CDLL("libgcc_s.so.1")["__clear_cache"]
        except (OSError, AttributeError):
            return
        flush(ctypes.c_void_p(base), ctypes.c_void_p(base + size))
