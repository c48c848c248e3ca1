"""Obtaining kernels that are kept: from a warm environment, and from CuPy's own cache on disk.

python -m benchmarks.loading
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.side_by_side import measure, show
from gpurt_core.adapters.cupy.null_device import NullDevice, profile_for
from gpurt_core.environment import Environment
from gpurt_core.execution import ProcessMode, ProcessModeOverride, StatisticsCollector

KERNELS, ROUNDS = 80, 15


def main() -> None:
    """Prints the ratios."""
    null = NullDevice.install([profile_for("sm_90")])
    import cupy
    from cupy.cuda import compiler
    from cupy.cuda._compiler_cache import DiskKernelCacheBackend

    from gpurt_core.adapters.cupy.seam import CupySeam

    sources = [
        f'extern "C" __global__ void k{n}(float* x, int n) {{ x[n] = sinf(x[n]) * {n}; }}'
        for n in range(KERNELS)
    ]
    ask = cupy._core.core.compile_with_cache  # what all of CuPy's kernels go through
    original = compiler._compile_module_with_cache

    def obtain() -> None:
        for number, source in enumerate(sources):
            ask(source).get_function(f"k{number}")

    def from_cupys_cache() -> None:
        compiler._compile_module_with_cache = original
        obtain()

    with tempfile.TemporaryDirectory() as folder, Environment.open(f"{folder}/env") as environment:
        compiler._set_kernel_cache_backend(DiskKernelCacheBackend(str(Path(folder, "cupy"))))
        seam = CupySeam(environment, null_device=null)
        seam.install(compiler)
        steered = compiler._compile_module_with_cache

        def from_environment() -> None:
            compiler._compile_module_with_cache = steered
            seam.begin_generation()
            obtain()

        with ProcessModeOverride(ProcessMode.EXECUTE, StatisticsCollector()):
            from_environment()
            from_cupys_cache()
            seconds = measure(
                {"CuPy's cache": from_cupys_cache, "warm environment": from_environment},
                rounds=ROUNDS,
            )
        seam.uninstall()
    show(
        f"one of {KERNELS} kernels",
        {name: value / KERNELS for name, value in seconds.items()},
        unit="us",
    )


if __name__ == "__main__":
    main()
