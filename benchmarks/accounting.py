"""What accounting costs a session of 10,000 tests: time for each, and memory for their records.

python -m benchmarks.accounting
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

from benchmarks.side_by_side import measure, show
from gpurt_core.adapters.cupy.observer import KernelReport
from gpurt_core.execution import KernelOutcome, KernelRegistration, ProcessMode
from pytest_gpurt.accounting import Accounting
from pytest_gpurt.kernels import KernelJournal
from pytest_gpurt.results import EntryResult, counts_of

ROUNDS = 3
TESTS = 10_000

SUITE = f"""
import pytest
import {{framework}}

@pytest.mark.parametrize("number", range({TESTS}))
def test_adds(number):
    assert number + 1 > number
"""


def compare_sessions(folder: Path) -> None:
    """Sessions of tests that do next to nothing, in a suite that uses CuPy."""
    (folder / "test_many.py").write_text(SUITE.format(framework="cupy"))

    def run(*arguments: str) -> None:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        subprocess.run(
            [*command, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
            stdout=subprocess.DEVNULL,
            check=False,
        )

    seconds = measure(
        {
            "without the plugin": lambda: run("-p", "no:gpurt"),
            "counting": run,
            "--gpu-mode=compile-only": lambda: run("--gpu-mode=compile-only"),
            "--gpu-mode=execute": lambda: run("--gpu-mode=execute"),
        },
        rounds=ROUNDS,
    )
    show(f"{TESTS} tests", seconds)
    without = seconds["without the plugin"]
    for name, value in seconds.items():
        print(f"  {name}: {(value - without) / TESTS * 1e3:.3f} ms per test more")
    print()


def weigh_records() -> None:
    """What is kept of tests that obtain three kernels each, and what results are made of it."""
    names = [f"tests/test_many.py::test_obtains[{number}]" for number in range(TESTS)]
    parts = {"source": "abc"}
    tracemalloc.start()
    accounting, journal = Accounting(ProcessMode.EXECUTE), KernelJournal()
    accounting.open()
    before, _ = tracemalloc.get_traced_memory()
    for number, name in enumerate(names):
        collector = accounting.count_to_test(name)
        for id in (f"{(number + step) % 100:040x}" for step in range(3)):
            journal.reached(id, "kernel")
            KernelRegistration(collector).settle(KernelOutcome.LOADED)
            journal.settled(
                KernelReport(
                    id, "kernel", "90", KernelOutcome.LOADED, 0.1, None, parts, (collector,)
                )
            )
            journal.unrecorded.clear()
            journal.newly_settled.clear()
    kept, _ = tracemalloc.get_traced_memory()
    results = {
        name: EntryResult(entry.kind, [counts_of(one.statistics()) for one in entry.attempts])
        for name, entry in accounting.entries.items()
    }
    sent, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    accounting.close()
    print(f"records of {len(results)} tests of three kernels each")
    print(f"  while they run                 {(kept - before) / 2**20:6.1f} MB")
    print(f"  the results made of them       {(sent - kept) / 2**20:6.1f} MB")
    print()


def main() -> None:
    """Prints times and sizes."""
    weigh_records()
    with tempfile.TemporaryDirectory() as folder:
        compare_sessions(Path(folder))


if __name__ == "__main__":
    main()
