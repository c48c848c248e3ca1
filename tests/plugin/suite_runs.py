"""Runs a suite of `tests/suites` with the plugin, in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUITES = Path(__file__).parents[1] / "suites"


@dataclass(frozen=True)
class SuiteRun:
    """What a run came to."""

    code: int
    output: str
    report: dict[str, Any]

    @property
    def outcomes(self) -> dict[str, tuple[str, int]]:
        """Test to outcome and number of kernels obtained."""
        return {
            nodeid: (test["outcome"], obtained(test["statistics"]))
            for nodeid, test in self.report["tests"].items()
        }

    def count(self, name: str) -> int:
        """A count of kernels of the whole run."""
        return int(self.report["statistics"]["compilation"][name])


def obtained(statistics: dict[str, Any]) -> int:
    """Kernels that there is an artifact of."""
    return int(statistics["compilation"]["compiled"] + statistics["compilation"]["loaded"])


def copy_suite(name: str, folder: Path) -> Path:
    """A copy of a suite to run in."""
    return Path(shutil.copytree(SUITES / name, folder / name, dirs_exist_ok=True))


def run_suite(
    suite: Path,
    *arguments: str,
    environment: dict[str, str] | None = None,
    mode: str | None = "compile-only",
    with_report: bool = True,
    with_cache: bool = False,
) -> SuiteRun:
    """Runs pytest in the folder of a suite."""
    report = suite / "report.json"
    report.unlink(missing_ok=True)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "GPURT"))}
    inherited["CUPY_CACHE_DIR"] = str(suite / "cupy-cache")
    command = [sys.executable, "-m", "pytest", "--tb=short"]
    if not with_cache:
        command += ["-p", "no:cacheprovider"]
    if mode is not None:
        command += [f"--gpu-mode={mode}"]
    if with_report:
        command += ["--gpu-report=report.json"]
    done = subprocess.run(
        [*command, *arguments],
        cwd=suite,
        env={**inherited, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    content = json.loads(report.read_text()) if report.exists() else {}
    return SuiteRun(done.returncode, done.stdout + done.stderr, content)


def table_of(suite: str, name: str = "EXPECTED") -> dict[str, Any]:
    """A table of a suite's `expected.py`."""
    content: dict[str, Any] = {}
    exec((SUITES / suite / "expected.py").read_text(), content)
    table: dict[str, Any] = content[name]
    return table


def expected_of(suite: str, name: str = "EXPECTED") -> dict[str, tuple[str, int]]:
    """Test to outcome and number of kernels."""
    return {
        test: (expected["outcome"], expected["obtained"])
        for test, expected in table_of(suite, name).items()
    }
