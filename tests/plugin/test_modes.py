"""Counting without a mode, and with the kernels of an environment: the same counts."""

from __future__ import annotations

import pytest

from gpurt_core.adapters.cupy.early import STARTUP_FOLDER
from tests.plugin.conftest import RunSuite
from tests.plugin.suite_runs import expected_of

NULL_DEVICE = {"GPURT_NULL_DEVICE": "sm_80", "PYTHONPATH": STARTUP_FOLDER}
"""A device on which everything runs, and nothing is computed."""


@pytest.mark.parametrize("mode", [None, "execute"])
def test_counts_are_those_of_a_compile_only_pass(run: RunSuite, mode: str | None) -> None:
    expected = {
        test: obtained
        for test, (_, obtained) in expected_of("counts").items()
        if not test.startswith("test_reading")  # some of these wait for values for ever
    }
    options = ["-p", "no:randomly", "-k", "not reading"]
    cold = run("counts", *options, mode=mode, environment=NULL_DEVICE)
    assert {test: cold.outcomes[test][1] for test in expected} == expected, cold.output
    warm = run("counts", *options, mode=mode, environment=NULL_DEVICE)
    assert {test: warm.outcomes[test][1] for test in expected} == expected
    assert warm.count("compiled") == 1  # in an environment of its own
    assert warm.count("loaded") == cold.count("compiled") + cold.count("loaded") - 1


def test_a_run_that_only_counts_makes_no_folder(run: RunSuite, tmp_path: object) -> None:
    counted = run("eighty", "-q", mode=None, environment=NULL_DEVICE)
    assert counted.count("compiled") == 84
    assert "gpurt: " not in counted.output.split("\n")[0]
    assert not (tmp_path / "eighty" / ".gpurt").exists()  # type: ignore[operator]


def test_an_environment_that_was_warmed_serves_the_run_that_executes(run: RunSuite) -> None:
    warmed = run("eighty", "--gpu-arch=sm_80", mode="compile-only")
    assert warmed.count("compiled") == 84
    executed = run("eighty", mode="execute", environment=NULL_DEVICE)
    assert (executed.count("compiled"), executed.count("loaded")) == (0, 84)


def test_a_suite_without_gpu_code_is_told_nothing(run: RunSuite) -> None:
    quiet = run("no_gpu", mode=None)
    assert "gpurt" not in quiet.output.split("plugins:")[1].split("\n", 1)[1].replace("no_gpu", "")
