"""What tests of the plugin share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plugin.suite_runs import SuiteRun, copy_suite, run_suite

RunSuite = Callable[..., SuiteRun]


@pytest.fixture
def run(tmp_path: Path) -> RunSuite:
    """`run("counts", "-k", ...)` runs a suite of `tests/suites` in a copy; the copy stays."""

    def run_copy(name: str, *arguments: str, **options: object) -> SuiteRun:
        suite = tmp_path / name
        if not suite.exists():
            copy_suite(name, tmp_path)
        return run_suite(suite, *arguments, **options)  # type: ignore[arg-type]

    return run_copy


@pytest.fixture
def run_files(tmp_path: Path) -> RunSuite:
    """`run_files({"test_x.py": "..."}, ...)` runs some files of a test's own."""

    def run_written(files: dict[str, str], *arguments: str, **options: object) -> SuiteRun:
        folder = tmp_path / "written"
        folder.mkdir(exist_ok=True)
        (folder / "pytest.ini").write_text(
            "[pytest]\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"
        )
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
        return run_suite(folder, "-p", "no:randomly", *arguments, **options)  # type: ignore[arg-type]

    return run_written
