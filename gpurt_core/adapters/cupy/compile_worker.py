"""A process that compiles kernels for another one: `python compile_worker.py FOLDER BYTES`.

It reads kernels from its standard input and answers each on its standard output, until the input
ends: when its parent is done, or dead. It runs no code of the suite and touches no device. Of what
does not compile it only says so: the parent compiles that again itself, for the error. NVRTC keeps
the headers that it has read in the folder, up to about so many bytes.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import struct
import sys
import time
from typing import IO

SECONDS = struct.Struct("<d")
"""What an artifact is preceded by: how long it took."""
_LENGTH = struct.Struct("<BQ")


def read_message(stream: IO[bytes]) -> tuple[int, bytes] | None:
    """A number and some bytes; `None` at the end of the stream."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    number, length = _LENGTH.unpack(head)
    content = stream.read(length)
    return (number, content) if len(content) == length else None


def write_message(stream: IO[bytes], number: int, content: bytes) -> None:
    """Writes what `read_message` reads."""
    stream.write(_LENGTH.pack(number, len(content)) + content)
    stream.flush()


COMPILED, FAILED, READY = 1, 2, 3
"""What the number of an answer says."""


def main(folder: str, most: int) -> None:
    """Serves until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not break into an answer
    from cupy.cuda import compiler

    from gpurt_core.adapters.cupy.compiler import CudaCompiler
    from gpurt_core.adapters.cupy.payload import decode_kernel
    from gpurt_core.errors import CompilationError

    compiler._get_nvrtc_version()  # loads NVRTC
    make_room_for_headers(most)
    write_message(answers, READY, b"")
    while (message := read_message(sys.stdin.buffer)) is not None:
        job = json.loads(message[1])
        kernel = decode_kernel(job["kernel"])
        assert kernel is not None
        targets = {kernel.request.arch: tuple(job["target"])}
        headers = job["headers"]
        chosen = CudaCompiler(
            compiler,
            target=targets.__getitem__,
            precompiled_headers=None if headers is None else folder,
            read_ahead=headers or (),
        )
        began = time.perf_counter()
        try:
            artifact = chosen.finalize(kernel.key.id, kernel)
        except CompilationError:
            write_message(answers, FAILED, b"")
        else:
            took = SECONDS.pack(time.perf_counter() - began)
            write_message(answers, COMPILED, took + artifact.encode())
        drop_oldest(folder, most)


def make_room_for_headers(most: int) -> None:
    """Lets NVRTC keep headers of up to so many bytes: those of libcu++ hardly fit into the 256 MB
    that it allows by itself. What is not needed is never touched.

    https://docs.nvidia.com/cuda/nvrtc/, section "Precompiled Header": `nvrtcSetPCHHeapSize`.
    """
    with contextlib.suppress(OSError), open("/proc/self/maps") as maps:
        paths = {line.split(maxsplit=5)[5].strip() for line in maps if "libnvrtc.so" in line}
        for path in paths:
            set_size = getattr(ctypes.CDLL(path), "nvrtcSetPCHHeapSize", None)  # since CUDA 12.8
            if set_size is not None:
                set_size(ctypes.c_size_t(most))


def drop_oldest(folder: str, most: int) -> None:
    """Removes kept headers that were not used for longest, until `most` bytes are left."""
    with contextlib.suppress(OSError):
        kept = [(entry.stat(), entry.path) for entry in os.scandir(folder)]
        size = sum(status.st_size for status, _path in kept)
        for status, path in sorted(kept, key=lambda pair: pair[0].st_atime):
            if size <= most:
                break
            os.unlink(path)
            size -= status.st_size


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
