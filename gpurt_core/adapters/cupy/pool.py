"""Compiling in processes of its own: NVRTC does little in parallel within one process.

The pool starts once there is enough to compile to pay for it, while the rest is still gathered;
once per session, and it ends with that. Each process keeps the headers that it has read in a folder
of its own, so that the next kernel does not read them again; it reads those of the first kernel as
soon as it has started. A process that dies is replaced, and its kernel tried again once.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import LifoQueue
from typing import Any

from gpurt_core.adapters.cupy.artifact import CudaArtifact
from gpurt_core.adapters.cupy.compile_worker import (
    COMPILED,
    READY,
    SECONDS,
    read_message,
    write_message,
)
from gpurt_core.adapters.cupy.compiler import CudaCompiler, CudaKernel
from gpurt_core.adapters.cupy.payload import encode_kernel
from gpurt_core.adapters.cupy.precompiled import headers_to_keep
from gpurt_core.compilation import usable_cpus
from gpurt_core.errors import CompilationError

WORTH_STARTING = 6
"""From so many kernels on, processes are worth starting: one takes 0.3 s to start, as long as two
or three kernels take to compile."""

_KEPT_BYTES = 2**30
"""How much each process keeps of headers, at most: those of libcu++ are 250 MB."""
_PART_OF_DISK = 8
"""All together keep no more than this part of what is free."""
_PIPE_BYTES = 32 * 2**10
"""What fits into a pipe that nobody reads yet."""

_HIDDEN = (
    "GPURT_NULL_DEVICE",
    "GPURT_CHILDREN",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "COVERAGE_PROCESS_START",
)


class CompilePool:
    """A compiler of `size` processes, for as many threads that ask at once."""

    def __init__(self, compiler: Any, size: int, *, keep_headers: bool = True) -> None:
        """`compiler` is the module `cupy.cuda.compiler`."""
        self._keep_headers = keep_headers
        self._size = size
        self._here = CudaCompiler(compiler)
        self._target: Callable[[str], tuple[str, str]] = compiler._get_arch_for_options_for_nvrtc
        self._idle: LifoQueue[_Worker | None] = LifoQueue()
        """`None` once processes cannot be had any longer."""
        self._workers: list[_Worker] = []
        self._folder: Path | None = None
        self._lock = threading.Lock()
        self.seconds: dict[str, float] = {}
        """Kernel id to how long it took to compile, waiting aside."""
        self._owner = os.getpid()

    def start(self, kernel: CudaKernel) -> None:
        """Starts the processes, which is not waited for: they are about to compile kernels like
        this one."""
        if not self._is_mine():
            return
        with self._lock:
            if self._folder is None:
                self._start(kernel)

    def lower(self, id: str, kernel: CudaKernel) -> CudaKernel:
        """CUDA has one step."""
        return kernel

    def source(self, lowered: CudaKernel) -> None:
        """See `CudaCompiler.source`."""

    def finalize(self, id: str, lowered: CudaKernel) -> CudaArtifact:
        """Compiles it; raises `CompilationError`."""
        if self._folder is None or not self._is_mine() or not _can_travel(lowered):
            return self._compile_here(id, lowered)
        artifact = self._compile(lowered)
        return self._compile_here(id, lowered) if artifact is None else artifact

    def _compile_here(self, id: str, kernel: CudaKernel) -> CudaArtifact:
        began = time.perf_counter()
        try:
            return self._here.finalize(id, kernel)
        finally:
            self.seconds[id] = time.perf_counter() - began

    def close(self) -> None:
        """Ends the processes."""
        if not self._is_mine():
            return
        with self._lock:
            workers, self._workers = self._workers, []
            folder, self._folder = self._folder, None
            self._idle.put(None)
        for worker in workers:
            worker.end()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _is_mine(self) -> bool:
        """A forked child has its parent's pipes, and must not use them."""
        return os.getpid() == self._owner

    def _start(self, kernel: CudaKernel) -> None:
        try:
            self._folder = Path(tempfile.mkdtemp(prefix="gpurt-compiling-"))
            for number in range(self._size):
                self._add_worker(number).rehearse(self._job(kernel))
        except OSError:  # no room for files or processes: threads of this process will do
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
                self._folder = None
        atexit.register(self.close)

    def _add_worker(self, number: int) -> _Worker:
        assert self._folder is not None
        free = shutil.disk_usage(self._folder).free
        most = min(_KEPT_BYTES, free // _PART_OF_DISK // usable_cpus())
        worker = _Worker(self._folder / str(number), most)
        self._workers.append(worker)
        self._idle.put(worker)
        return worker

    def _job(self, kernel: CudaKernel, *, keep_headers: bool = True) -> bytes:
        job = {
            "kernel": encode_kernel(kernel),
            "target": self._target(kernel.request.arch),
            "headers": self._headers_to_keep(kernel) if keep_headers else None,
        }
        return json.dumps(job).encode()

    def _headers_to_keep(self, kernel: CudaKernel) -> tuple[str, ...] | None:
        """See `headers_to_keep`; `None` also for a user's own, which may change."""
        if not self._keep_headers or kernel.key.headers.findings:
            return None
        return headers_to_keep(kernel.request.source)

    def _compile(self, kernel: CudaKernel) -> CudaArtifact | None:
        """The artifact; `None` where it is to be compiled here, for its error."""
        # The second time without headers: NVRTC crashes where there is no room to keep them.
        for text in (self._job(kernel), self._job(kernel, keep_headers=False)):
            worker = self._idle.get()
            if worker is None:
                self._idle.put(None)
                return None
            answer = worker.ask(text)
            if answer is not None:
                self._idle.put(worker)
                number, content = answer
                return self._read(kernel.key.id, content) if number == COMPILED else None
            if self._folder is None:
                raise InterruptedError("the processes were ended while one was compiling")
            self._replace(worker)
        raise CompilationError(
            f"{kernel.label}: the compiler crashed twice while compiling it", kernel=kernel.label
        )

    def _read(self, id: str, content: bytes) -> CudaArtifact | None:
        (self.seconds[id],) = SECONDS.unpack_from(content)
        return CudaArtifact.decode(content[SECONDS.size :])

    def _replace(self, worker: _Worker) -> None:
        with self._lock:
            if worker in self._workers and self._folder is not None:
                self._workers.remove(worker)
                worker.end()
                try:
                    self._add_worker(int(worker.folder.name))
                except OSError:  # then threads of this process compile
                    self._idle.put(None)


def _can_travel(kernel: CudaKernel) -> bool:
    """What needs more than NVRTC stays in this process."""
    request = kernel.request
    separate = any(
        option in ("--device-c", "-dc", "-rdc=true", "--relocatable-device-code=true")
        for option in request.options
    )
    return request.backend == "nvrtc" and not request.jitify and not separate


class _Worker:
    """One process."""

    def __init__(self, folder: Path, most: int) -> None:
        """`most` is how much it keeps of headers (bytes)."""
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)  # of one that died in the middle
        folder.mkdir(parents=True)
        self._ready = False
        self._owed = 0
        """Answers that nobody waits for."""
        environment = {name: text for name, text in os.environ.items() if name not in _HIDDEN}
        paths = os.pathsep.join(path for path in sys.path if path and os.path.isdir(path))
        script = str(Path(__file__).with_name("compile_worker.py"))
        self._process = subprocess.Popen(
            [sys.executable, "-s", script, str(folder), str(most)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment, "PYTHONPATH": paths},
            cwd=folder,
            start_new_session=True,  # an interrupt at the terminal is the parent's to handle
        )

    def rehearse(self, content: bytes) -> None:
        """Has it do this once it has started, for practice."""
        assert self._process.stdin is not None
        if len(content) < _PIPE_BYTES:
            write_message(self._process.stdin, 0, content)
            self._owed += 1

    def ask(self, content: bytes) -> tuple[int, bytes] | None:
        """Its answer; `None` when it is dead."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            if not self._ready:
                hello = read_message(self._process.stdout)
                self._ready = hello is not None and hello[0] == READY
            while self._ready and self._owed:
                self._owed -= 1
                self._ready = read_message(self._process.stdout) is not None
            if self._ready:
                write_message(self._process.stdin, 0, content)
                return read_message(self._process.stdout)
        except (OSError, ValueError):
            pass
        return None

    def end(self) -> None:
        """Ends it."""
        self._process.kill()  # first: who reads its answer ends, and lets go of the stream
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
