"""Compiling ninety kernels: plain CuPy, threads, processes, with and without kept headers.

Processes are started anew for each, and their start counts. Best possible is the time of one
process with kept headers, divided by the CPUs.

    python -m benchmarks.compiling
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from benchmarks.side_by_side import measure, show
from gpurt_core.adapters.cupy.null_device import NullDevice, profile_for
from gpurt_core.execution import ProcessMode, ProcessModeOverride, StatisticsCollector

ROUNDS = 3


class Nothing:
    """Finds nothing and keeps nothing."""

    def artifact(self, id: str) -> bytes | None:
        """Nothing."""
        return None

    def store(
        self, id: str, artifact: bytes, *, source: str | None = None, label: str = ""
    ) -> bool:
        """Keeps nothing."""
        return False


def gather(null: NullDevice) -> list[Any]:
    """Kernels of CuPy's own functions, of many types."""
    import cupy
    import cupy.cuda.compiler as compiler

    from gpurt_core.adapters.cupy.seam import CupySeam

    seam = CupySeam(Nothing(), null_device=null)
    seam.install(compiler)
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, StatisticsCollector()):
        for kind in "bBhHiIlLefdFD":
            x = cupy.zeros((6, 5), kind)
            for function in (cupy.add, cupy.multiply, cupy.subtract, cupy.equal):
                function(x, x)
            cupy.negative(x) if kind not in "BHIL" else cupy.invert(x)
            x.sum(axis=0), x.max(axis=1)
    kernels = list(seam.kernels.values())
    seam.abandon_queued()
    seam.uninstall()
    return kernels


def one_after_another(kernels: list[Any]) -> None:
    """As CuPy does, with its own function."""
    from cupy.cuda import compiler

    for kernel in kernels:
        request = kernel.request
        compiler._compile_using_nvrtc_no_warning(request.source, request.options, request.arch)


def on_threads(kernels: list[Any], count: int) -> None:
    """On threads of this process."""
    from cupy.cuda import compiler

    from gpurt_core.adapters.cupy.compiler import CudaCompiler

    here = CudaCompiler(compiler)
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(lambda kernel: here.finalize(kernel.key.id, kernel), kernels))


def in_processes(kernels: list[Any], count: int, keep_headers: bool) -> None:
    """In processes of their own."""
    from cupy.cuda import compiler

    from gpurt_core.adapters.cupy.pool import CompilePool

    processes = CompilePool(compiler, count, keep_headers=keep_headers)
    processes.expect(len(kernels))
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(lambda kernel: processes.finalize(kernel.key.id, kernel), kernels))
    processes.close()


def main() -> None:
    """Prints the ratios, and how near the best is to what is possible."""
    kernels = gather(NullDevice.install([profile_for("sm_90")]))
    cpus = len(os.sched_getaffinity(0))
    alternatives: dict[str, Callable[[], object]] = {
        "plain CuPy, one after another": partial(one_after_another, kernels),
        f"{cpus} threads": partial(on_threads, kernels, cpus),
        "1 process": partial(in_processes, kernels, 1, False),
        f"{cpus} processes": partial(in_processes, kernels, cpus, False),
        "1 process, kept headers": partial(in_processes, kernels, 1, True),
        f"{cpus} processes, kept headers": partial(in_processes, kernels, cpus, True),
    }
    seconds = measure(alternatives, rounds=ROUNDS)
    show(f"{len(kernels)} kernels on {cpus} CPUs", seconds)
    alone, together = list(seconds.values())[-2:]
    print(f"  efficiency of {cpus} processes: {alone / cpus / together:.0%} of work / CPUs\n")


if __name__ == "__main__":
    main()
