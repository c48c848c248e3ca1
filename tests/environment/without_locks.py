"""Makes this process one whose file systems have no locks: the system refuses each of them.

A filter of system calls (seccomp) answers ENOLCK, as a network file system does that has no lock
service; SQLite meets what it would meet there. It lasts until the process ends.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

FCNTL = {"x86_64": 72, "aarch64": 25}.get(platform.machine())
_SET_LOCK, _SET_LOCK_AND_WAIT = 6, 7
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_REFUSE, _ALLOW = 0x00050000 | errno.ENOLCK, 0x7FFF0000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def refuse_locks() -> None:
    """From here on `fcntl(F_SETLK)` and `fcntl(F_SETLKW)` fail with ENOLCK."""
    assert FCNTL is not None
    instructions = [
        (_LOAD, 0, 0, 0),  # the number of the system call
        (_JUMP_IF_EQUAL, 0, 4, FCNTL),
        (_LOAD, 0, 0, 24),  # its second argument
        (_JUMP_IF_EQUAL, 1, 0, _SET_LOCK),
        (_JUMP_IF_EQUAL, 0, 1, _SET_LOCK_AND_WAIT),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(instructions), ctypes.addressof(buffer))
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if library.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
