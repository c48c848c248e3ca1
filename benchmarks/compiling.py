"""Compiling kernels: plain CuPy, threads, processes, with and without kept headers.

Of two suites: arithmetic, whose headers are small, and filters of images, some of whose headers are
those of libcu++. Processes are started anew for each, and their start counts but in the last line:
in a session they start while kernels are gathered. Best possible is the time of one process with
kept headers, divided by the CPUs.

    python -m benchmarks.compiling
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from benchmarks.side_by_side import measure, show
from gpurt_core.adapters.cupy.null_device import NullDevice, profile_for
from gpurt_core.adapters.cupy.pool import CompilePool
from gpurt_core.execution import ProcessMode, ProcessModeOverride, StatisticsCollector

ROUNDS = 2


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


def gather(null: NullDevice, work: Callable[[], object]) -> list[Any]:
    """The kernels that some work reaches."""
    import cupy
    import cupy.cuda.compiler as compiler

    from gpurt_core.adapters.cupy.seam import CupySeam

    cupy.clear_memo()  # another suite's kernels are asked for again
    seam = CupySeam(Nothing(), null_device=null)
    seam.install(compiler)
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, StatisticsCollector()):
        work()
    kernels = list(seam.kernels.values())
    seam.abandon_queued()
    seam.uninstall()
    return kernels


def arithmetic(kinds: str = "bBhHiIlLefdFD") -> None:
    """CuPy's own functions, of many types."""
    import cupy

    for kind in kinds:
        x = cupy.zeros((6, 5), kind)
        for function in (cupy.add, cupy.multiply, cupy.subtract, cupy.equal):
            function(x, x)
        cupy.negative(x) if kind not in "BHIL" else cupy.invert(x)
        x.sum(axis=0), x.max(axis=1)


def filters() -> None:
    """What a library for images uses: arithmetic, too."""
    import cupy
    import cupyx.scipy.ndimage as ndimage

    arithmetic("bHiIlLfdF")
    image = cupy.zeros((16, 16), "f")
    for size in (3, 5, 7):
        ndimage.uniform_filter(image, size)
        ndimage.median_filter(image, size)
        ndimage.maximum_filter(image, size)
    ndimage.gaussian_filter(image, 1.0)
    ndimage.sobel(image)
    ndimage.laplace(image)
    ndimage.zoom(image, 2.0)
    ndimage.rotate(image, 30.0)
    ndimage.shift(image, 1.5)


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


def in_processes(kernels: list[Any], processes: CompilePool, count: int) -> None:
    """In processes of their own, which are ended."""
    processes.start(kernels[0])
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(lambda kernel: processes.finalize(kernel.key.id, kernel), kernels))
    processes.close()


def started(kernels: list[Any], count: int) -> CompilePool:
    """Processes that have had the time to start."""
    from cupy.cuda import compiler

    processes = CompilePool(compiler, count)
    processes.start(kernels[0])
    time.sleep(2.0)
    return processes


def compare(title: str, kernels: list[Any]) -> None:
    """Prints the ratios, and how near the best is to what is possible."""
    from cupy.cuda import compiler

    cpus = len(os.sched_getaffinity(0))
    before = [started(kernels, cpus) for _round in range(ROUNDS)]

    def processes(count: int, keep_headers: bool) -> Callable[[], None]:
        return lambda: in_processes(
            kernels, CompilePool(compiler, count, keep_headers=keep_headers), count
        )

    seconds = measure(
        {
            "plain CuPy, one after another": partial(one_after_another, kernels),
            f"{cpus} threads": partial(on_threads, kernels, cpus),
            "1 process": processes(1, False),
            f"{cpus} processes": processes(cpus, False),
            "1 process, kept headers": processes(1, True),
            f"{cpus} processes, kept headers": processes(cpus, True),
            f"{cpus} processes, started before": lambda: in_processes(kernels, before.pop(), cpus),
        },
        rounds=ROUNDS,
    )
    show(f"{title}: {len(kernels)} kernels on {cpus} CPUs", seconds)
    alone, together, _before = list(seconds.values())[-3:]
    print(f"  efficiency of {cpus} processes: {alone / cpus / together:.0%} of work / CPUs\n")


def main() -> None:
    """Both suites."""
    null = NullDevice.install([profile_for("sm_90")])
    compare("arithmetic", gather(null, arithmetic))
    compare("filters", gather(null, filters))


if __name__ == "__main__":
    main()
