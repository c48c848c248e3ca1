"""A suite of eighty-four kernels: plain CuPy one after another, and a compile-only pass.

Both run on the null device, with nothing kept from before; the times are of whole pytest runs.

    python -m benchmarks.gathering
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.side_by_side import measure, show
from gpurt_core.adapters.cupy.early import STARTUP_FOLDER

SUITE = Path(__file__).parents[1] / "tests" / "suites" / "eighty"
ROUNDS = 3


def pytest_run(*arguments: str, null_device: bool = False) -> None:
    """One run with nothing kept from before, and quiet."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CUPY_CACHE_DIR": f"{folder}/cupy"}
        if null_device:
            environment |= {"GPURT_NULL_DEVICE": "sm_90", "PYTHONPATH": STARTUP_FOLDER}
        options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", *arguments]
        if not null_device:
            options.append(f"--gpu-environment={folder}/environment")
        subprocess.run(
            [sys.executable, "-m", "pytest", *options],
            cwd=SUITE,
            env=environment,
            stdout=subprocess.DEVNULL,
            check=True,
        )


def main() -> None:
    """Prints the ratios."""
    seconds = measure(
        {
            "plain CuPy": lambda: pytest_run("-p", "no:gpurt", null_device=True),
            "compile-only": lambda: pytest_run("--gpu-mode=compile-only"),
            "compile-only, one job": lambda: pytest_run("--gpu-mode=compile-only", "--gpu-jobs=1"),
        },
        rounds=ROUNDS,
    )
    show(f"84 kernels, cold, on {len(os.sched_getaffinity(0))} CPUs", seconds)


if __name__ == "__main__":
    main()
