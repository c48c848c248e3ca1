"""The same work three times: from nothing, warmed up in two passes, and warm.

    python compare.py               # on the first device that there is
    python compare.py opencl:0

Each line says how many kernels were compiled or loaded, how many keys were measured or recalled,
and how long it took.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy
from scaling import scale

from gpurt_core.environment import Environment
from gpurt_core.execution import ProcessMode, ProcessModeOverride, StatisticsCollector
from gpurt_core.servers import connect
from gpurt_core.tune import process_book

SIZES = (1 << 10, 1 << 16, 1 << 20)
FACTORS = (2.5, -0.5)


def work(title: str, mode: ProcessMode, folder: Path, address: str | None) -> None:
    """Scales vectors of each size by each factor, and prints what that came to."""
    collector = StatisticsCollector(title)
    began = time.perf_counter()
    with (
        Environment.open(folder) as environment,
        connect(address, environment=environment) as device,
        ProcessModeOverride(mode, collector),
    ):
        process_book.switch(environment)
        for size in SIZES:
            for factor in FACTORS:
                x = device.array(numpy.ones(size, numpy.float32))
                scale(device, x, factor)
        device.compile_queued()
        device.synchronize()
        process_book.switch(None)
    kernels, tunes = collector.statistics().compilation, collector.statistics().autotune
    print(
        f"{title:<14} kernels: {kernels.compiled} compiled, {kernels.loaded} loaded   "
        f"tunes: {tunes.measured} measured, {tunes.recalled} recalled   "
        f"{time.perf_counter() - began:6.2f} s"
    )


def main() -> None:
    """Three ways to the same result."""
    address = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = Path(folder, "cold"), Path(folder, "warm")
        work("direct, cold", ProcessMode.EXECUTE, cold, address)
        work("compile-only", ProcessMode.COMPILE_ONLY, warm, address)
        work("autotune", ProcessMode.COMPILE_AND_AUTOTUNE, warm, address)
        work("execute, warm", ProcessMode.EXECUTE, warm, address)


if __name__ == "__main__":
    main()
