"""Which CuPy the adapter was made for."""

from __future__ import annotations

from typing import Any

from gpurt_core.errors import UnsupportedCuPy

SUPPORTED = "14.1 or newer, for CUDA"


def require_supported(cupy: Any, compiler: Any) -> None:
    """Raises `UnsupportedCuPy`.

    What counts is what is there, not the number: 14.1 brought the interface of the kernel cache
    that the seam counts by.
    """
    needed = ("_compile_module_with_cache", "_kernel_cache_backend", "_NVRTCProgram", "_preprocess")
    version = getattr(cupy, "__version__", "of an unknown version")
    if not all(hasattr(compiler, name) for name in needed):
        raise UnsupportedCuPy(version, SUPPORTED)
    if compiler.runtime.is_hip:
        raise UnsupportedCuPy(f"{version} for ROCm", SUPPORTED)
