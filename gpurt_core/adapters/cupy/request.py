"""What CuPy asks its compiler for: one kernel, as a value that can be kept and sent on."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpurt_core.adapters.cupy.options import with_absolute_folders

_ATTRIBUTE = re.compile(r"__(?:launch_bounds|cluster_dims|block_size|maxnreg)__\s*\([^)]*\)")
_KERNEL = re.compile(r"__global__\b[^(;{}]*?(\w+)\s*\(")
_LABEL_LENGTH = 60


@dataclass(frozen=True, slots=True)
class KernelRequest:
    """One call of CuPy's compiler: everything that the artifact depends on, but for headers."""

    source: str
    """CUDA C++, with the `#include` lines that CuPy puts in front."""
    options: tuple[str, ...]
    """As CuPy hands them to its compiler, in order."""
    arch: str
    """Compute capability without its dot: `"90"`."""
    backend: str = "nvrtc"
    """`"nvrtc"` or `"nvcc"`."""
    name_expressions: tuple[str, ...] = ()
    """C++ names of the template instances that are asked for, as they were spelled."""
    jitify: bool = False
    """Whether jitify prepares the source."""

    @property
    def digest(self) -> str:
        """A digest of the request alone."""
        text = repr((self.source, self.options, self.arch, self.backend, self.name_expressions))
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()

    @property
    def label(self) -> str:
        """What people call the kernel: its functions' names, in 60 characters at most."""
        names = list(self.name_expressions) or _KERNEL.findall(_ATTRIBUTE.sub("", self.source))
        text = ", ".join(dict.fromkeys(names)) or "kernel without a name"
        return text if len(text) <= _LABEL_LENGTH else text[: _LABEL_LENGTH - 1] + "…"

    def may_define(self, function: str) -> bool:
        """Whether the module may have a function of this very name, by the look of its source.

        A function keeps its name when it is `extern "C"`; a mangled one may be asked for by its
        mangled name. What cannot be told from the text is asked of the compiler.
        """
        if function in self.name_expressions:
            return True
        pattern = rf"\b{re.escape(function)}\b"
        return 'extern "C"' in self.source and re.search(pattern, self.source) is not None


def request_of(
    compiler: Any,
    source: str,
    options: tuple[str, ...],
    arch: str | None,
    backend: str,
    name_expressions: Sequence[str],
    jitify: bool,
) -> KernelRequest:
    """A call of `cupy.cuda.compiler` as a value, with the options that CuPy adds to it."""
    options = (*options, "-ftz=true")
    if compiler._get_bool_env_variable("CUPY_CUDA_COMPILE_WITH_DEBUG", False):
        options = (*options, "--device-debug", "--generate-line-info")
    if jitify and "-DCUPY_USE_JITIFY" not in options:
        options = (*options, "-DCUPY_USE_JITIFY")
    return KernelRequest(
        source=source,
        options=with_absolute_folders(options, os.getcwd()),
        arch=compiler._get_arch() if arch is None else arch,
        backend=backend,
        name_expressions=tuple(name_expressions),
        jitify=jitify or "-DCUPY_USE_JITIFY" in options,
    )
