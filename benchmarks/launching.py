"""What a launch costs: plain CuPy, executed through the seam, and discarded.

On the null device, where a launch itself costs nothing: what is left is all that the seam can add
to. With `--gpu` it runs on the GPU of a machine that has one, but for discarding.

    python -m benchmarks.launching
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.side_by_side import measure, show
from gpurt_core.adapters.cupy.null_device import NullDevice, profile_for
from gpurt_core.execution import ProcessMode, ProcessModeOverride, StatisticsCollector

ROUNDS, CALLS = 21, 20_000


class Kept:
    """Keeps artifacts in memory."""

    def __init__(self) -> None:
        self._artifacts: dict[str, bytes] = {}

    def artifact(self, id: str) -> bytes | None:
        """What is kept under an id."""
        return self._artifacts.get(id)

    def store(
        self, id: str, artifact: bytes, *, source: str | None = None, label: str = ""
    ) -> bool:
        """Keeps it."""
        self._artifacts[id] = artifact
        return True


def compare(null: NullDevice | None) -> None:
    """Prints the ratios: the same call of a kernel that CuPy made before the seam, and after."""
    import cupy
    import cupy.cuda.compiler

    from gpurt_core.adapters.cupy.seam import CupySeam

    x, y = cupy.zeros(1024, cupy.float32), cupy.zeros(1024, cupy.float32)
    code = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'
    plain_raw, steered_raw = cupy.RawKernel(code, "k"), cupy.RawKernel(code + " ", "k")
    cupy.multiply(x, y)
    plain_raw((1,), (1,), (x,))
    seam = CupySeam(Kept(), null_device=null)
    seam.install(cupy.cuda.compiler)
    collector = StatisticsCollector()
    modes: list[Any] = [ProcessMode.EXECUTE]
    if null is not None:
        modes.append(ProcessMode.COMPILE_ONLY)
    for mode in modes:
        with ProcessModeOverride(mode, collector):
            cupy.add(x, y)
            steered_raw((1,), (1,), (x,))
            seam.compile_queued()
            what = "executed" if mode is ProcessMode.EXECUTE else "discarded"
            for kind, plain, steered in (
                (
                    "x + y, a whole elementwise call",
                    lambda: cupy.multiply(x, y),
                    lambda: cupy.add(x, y),
                ),
                (
                    "a RawKernel",
                    lambda: plain_raw((1,), (1,), (x,)),
                    lambda: steered_raw((1,), (1,), (x,)),
                ),
            ):
                seconds = measure({"plain CuPy": plain, what: steered}, rounds=ROUNDS, calls=CALLS)
                show(kind, seconds, unit="us")


def main() -> None:
    """Runs on the null device, or on the real one."""
    compare(None if "--gpu" in sys.argv else NullDevice.install([profile_for("sm_90")]))


if __name__ == "__main__":
    main()
