"""Many workers on few CPUs, again and again, and killed at random: nothing twice, nothing lost.

Runs 300 tests over 100 kernels with 8 workers: they compile 100 kernels together when nothing
is kept, and none when all are. Then kills workers at random moments: what was kept verifies, the
next run compiles the rest, and no process is left over.

    python -m benchmarks.worker_stress 20 100
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gpurt_core.environment import Environment

WORKERS, KERNELS = 8, 100

SUITE = f"""
import cupy, pytest

def launch(n):
    code = 'extern "C" __global__ void k(float* x) {{{{ x[0] = %d; }}}}' % n
    cupy.RawKernel(code, "k")((1,), (1,), (cupy.zeros(1, "float32"),))

@pytest.mark.parametrize("number", range(300))
def test_of_many(number, gpu_stats):
    for n in {{number % {KERNELS}, number * 7 % {KERNELS}}}:
        launch(n)
    gpu_stats.expect(obtained=len({{number % {KERNELS}, number * 7 % {KERNELS}}}))
"""


def start(folder: Path) -> subprocess.Popen[bytes]:
    """A run over workers."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(WORKERS), "--gpu-mode=compile-only"]
    return subprocess.Popen(
        [*command, "--gpu-report=report.json", "-p", "no:cacheprovider"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def counts(folder: Path) -> tuple[int, int, int]:
    """Kernels compiled, tests that passed, and tests whose count is another one than expected."""
    report = json.loads((folder / "report.json").read_text())
    outcomes = [test["outcome"] for test in report["tests"].values()]
    wrong = sum(outcome != "passed" for outcome in outcomes)
    compiled: int = report["statistics"]["compilation"]["compiled"]
    return compiled, len(outcomes) - wrong, wrong


def check_runs(folder: Path, runs: int) -> None:
    """Cold and warm, again and again."""
    for number in range(runs):
        shutil.rmtree(folder / ".gpurt", ignore_errors=True)
        for expected in (KERNELS, 0):
            output, _ = start(folder).communicate()
            compiled, passed, wrong = counts(folder)
            if (compiled, passed, wrong) != (expected, 300, 0):
                raise SystemExit(f"run {number}: {compiled=} {passed=} {wrong=}\n{output.decode()}")
    print(f"{runs} runs: {KERNELS} compiled cold, 0 warm, 300 counts as expected, each time")


def workers_of(pid: int) -> list[int]:
    """The children of a run."""
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def check_kills(folder: Path, kills: int) -> None:
    """A worker is killed at a random moment; the run ends, and what it kept is whole."""
    longest = 0.0
    for _ in range(kills):
        shutil.rmtree(folder / ".gpurt", ignore_errors=True)
        process = start(folder)
        time.sleep(random.uniform(1.0, 5.0))
        for pid in random.sample(workers_of(process.pid) or [0], 1):
            if pid:
                os.kill(pid, signal.SIGKILL)
        began = time.monotonic()
        process.communicate(timeout=120)
        longest = max(longest, time.monotonic() - began)
        with Environment.open(folder / ".gpurt") as environment:
            ids = environment.known("k")
            if any(environment.artifact(id) is None for id in ids):
                raise SystemExit("an artifact that was kept does not verify")
        output, _ = start(folder).communicate(timeout=120)
        compiled, _passed, wrong = counts(folder)
        if wrong or compiled + len(ids) != KERNELS:
            raise SystemExit(f"{len(ids)} kept, then {compiled=} {wrong=}\n{output.decode()}")
    left = subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, check=False).stdout
    if left:
        raise SystemExit(f"processes are left over: {left.decode()}")
    print(f"{kills} kills: all that was kept verifies, the next run compiles the rest;")
    print(f"  a run goes on for {longest:.1f} s at most after its worker was killed")


def main() -> None:
    """`runs` and `kills` come from the command line."""
    runs, kills = (int(text) for text in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_many.py").write_text(SUITE)
        check_runs(folder, runs)
        check_kills(folder, kills)


if __name__ == "__main__":
    main()
