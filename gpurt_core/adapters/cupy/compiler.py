"""Compiling one kernel as CuPy would: the same compiler, options and bytes.

One thing may differ: where a header defines something of internal linkage, as those of libcu++ do,
NVRTC puts the file name of the source into the names of these symbols, and CuPy's is another one on
each machine.

What plain CuPy would raise comes as the cause of a `CompilationError`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gpurt_core.adapters.cupy.artifact import CudaArtifact
from gpurt_core.adapters.cupy.keys import KernelKey
from gpurt_core.adapters.cupy.options import with_moved_paths
from gpurt_core.adapters.cupy.request import KernelRequest
from gpurt_core.errors import CompilationError

_PATH = "/nonexistent/gpurt/kernel.cu"
"""Where a source claims to be, as NVRTC asks. The folder must not exist: NVRTC looks for headers
beside the source, and CuPy's is in a fresh temporary folder with nothing beside it. Always the same
name: headers that were kept are only found again by it."""


@dataclass(frozen=True)
class CudaKernel:
    """A kernel to compile."""

    request: KernelRequest
    key: KernelKey
    call: Callable[[], Any] | None = None
    """CuPy's own call for it, in the process that asked."""

    @cached_property
    def label(self) -> str:
        """What people call it."""
        return self.request.label


class CudaCompiler:
    """NVRTC, or nvcc where the kernel asks for it; safe on any thread."""

    def __init__(
        self,
        compiler: Any,
        *,
        target: Callable[[str], tuple[str, str]] | None = None,
        precompiled_headers: str | None = None,
        read_ahead: Sequence[str] = (),
    ) -> None:
        """`compiler` is the module `cupy.cuda.compiler`.

        `target` gives the option and the kind of image for an architecture, as CuPy would choose
        them; `precompiled_headers` is a folder of this process's own, in which NVRTC keeps the
        headers that it has read, those of `read_ahead` before others: the images are the same
        bytes (see `precompiled`).
        """
        self._compiler = compiler
        self._target = target or compiler._get_arch_for_options_for_nvrtc
        self._precompiled_headers = precompiled_headers
        self._read_ahead = tuple(f"--pre-include={name}" for name in read_ahead)

    def lower(self, id: str, kernel: CudaKernel) -> CudaKernel:
        """CUDA has one step."""
        return kernel

    def source(self, lowered: CudaKernel) -> None:
        """The id is made of the source: another id means another artifact."""

    def finalize(self, id: str, lowered: CudaKernel) -> CudaArtifact:
        """Compiles it; raises `CompilationError`."""
        request, log = lowered.request, io.StringIO()
        try:
            with lowered.key.headers.as_they_were() as moved:
                options = request.options
                if moved is not None:
                    options = with_moved_paths(options, moved)
                image, names = self._compile(id, request, options, log)
        except Exception as error:  # CuPy raises these where the kernel is asked for: so do we
            raise _failure(lowered.label, error) from error
        return CudaArtifact(image, names, log.getvalue(), lowered.key.parts_text)

    def _compile(
        self, id: str, request: KernelRequest, options: tuple[str, ...], log: io.StringIO
    ) -> tuple[bytes, dict[str, str]]:
        if request.backend == "nvrtc":
            return self._nvrtc(request, options, log)
        separate = self._compiler._is_cudadevrt_needed(options)
        image = self._compiler.compile_using_nvcc(
            request.source,
            options,
            request.arch,
            f"{id}.cubin.cu",
            code_type="cubin",
            separate_compilation=separate,
            log_stream=log,
        )
        return image, {}

    def _nvrtc(
        self, request: KernelRequest, options: tuple[str, ...], log: io.StringIO
    ) -> tuple[bytes, dict[str, str]]:
        flag, method = self._target(request.arch)
        separate = self._compiler._is_cudadevrt_needed(options)
        options = (*options, flag)
        headers: Any = ()
        names: Any = ()
        if request.jitify:
            options, headers, names = self._compiler._jitify_prep(request.source, options, _PATH)
        else:
            options = (*options, "--device-as-default-execution-space", *self._keeping())
        program = self._compiler._NVRTCProgram(
            request.source, _PATH, headers, names, request.name_expressions or None, method
        )
        image, mapping = program.compile(options, log)
        return self._linked(image) if separate else image, mapping or {}

    def _keeping(self) -> tuple[str, ...]:
        folder = self._precompiled_headers
        return () if folder is None else ("--pch", f"--pch-dir={folder}", *self._read_ahead)

    def _linked(self, image: bytes) -> bytes:
        """Relocatable code becomes a module with the device's own runtime library."""
        from cupy.cuda.function import LinkState

        state = LinkState()
        state.add_ptr_data(image, "cupy.ptx")
        state.add_ptr_file(self._compiler._get_cudadevrt_path())
        linked: bytes = state.complete()
        return linked


def _failure(label: str, error: Exception) -> CompilationError:
    log = str(error)
    return CompilationError(
        f"{label} does not compile: {_first_error(log)}", kernel=label, log=log, cause=error
    )


def _first_error(log: str) -> str:
    """The first line of a log that says what is wrong."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()]
    return (telling or lines or ["the compiler did not say why"])[0]
