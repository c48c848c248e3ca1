"""What the plugin costs a suite without GPU code: pytest's start, and 2,000 tests.

python -m benchmarks.without_gpu
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.side_by_side import measure, show

ROUNDS = 9
TESTS = 2000

SUITE = f"""
import pytest

@pytest.fixture
def one():
    return 1

@pytest.mark.parametrize("number", range({TESTS}))
def test_adds(number, one):
    assert number + one > number

def test_nothing_of_cupy_is_here():
    import sys
    assert "cupy" not in sys.modules and "numpy" not in sys.modules
"""


def main() -> None:
    """Prints the ratios and the differences."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_many.py").write_text(SUITE)
        Path(folder, "empty").mkdir()

        environment = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "",  # compiled once, as installed packages are
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # no other plugin's noise
        }

        def run(*arguments: str) -> None:
            subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
                cwd=folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                check=False,
            )

        def run_with(*arguments: str) -> None:
            run("-p", "pytest_gpurt.plugin", *arguments)

        start = measure(
            {"without": lambda: run("empty"), "with": lambda: run_with("empty")},
            rounds=3 * ROUNDS,
        )
        show("pytest's start", start, unit="ms")
        print(f"  difference: {(start['with'] - start['without']) * 1e3:.1f} ms\n")
        tests = measure({"without": lambda: run("."), "with": lambda: run_with(".")}, rounds=ROUNDS)
        show(f"{TESTS} tests", tests, unit="ms")
        started = start["with"] - start["without"]
        each = (tests["with"] - tests["without"] - started) / TESTS
        print(f"  difference: {each * 1e6:.1f} us per test\n")


if __name__ == "__main__":
    main()
