"""The plugin on a real CUDA device: `pytest -m gpu tests/gpu` runs these where there is one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.suite_runs import copy_suite, expected_of, run_suite
from tests.plugin.test_devices_and_tunes import MEASURED

pytestmark = pytest.mark.gpu

_NO_DEVICE = ("cudaErrorInsufficientDriver", "cudaErrorNoDevice")


@pytest.fixture(autouse=True)
def device() -> None:
    """Asked in another process: this one may have a stand-in."""
    script = "import cupy; print(cupy.cuda.runtime.getDeviceCount())"
    environment = {k: v for k, v in os.environ.items() if k != "GPURT_NULL_DEVICE"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    if any(reason in done.stderr for reason in _NO_DEVICE):
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr


def test_a_warmed_suite_runs_on_the_device_and_compiles_nothing(tmp_path: Path) -> None:
    script = "import cupy; print(cupy.cuda.Device().compute_capability)"
    arch = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.strip()
    suite = copy_suite("counts", tmp_path)
    ordered = ["-p", "no:randomly", "-k", "not reading"]
    warmed = run_suite(suite, f"--gpu-arch=sm_{arch}", *ordered)
    executed = run_suite(suite, *ordered, mode="execute")
    expected = {t: n for t, (_, n) in expected_of("counts").items() if "test_reading" not in t}
    assert {test: executed.outcomes[test][1] for test in expected} == expected, executed.output
    assert executed.count("compiled") == 1, executed.output  # in an environment of its own
    assert warmed.count("compiled") > 1


def test_values_are_right_with_and_without_a_mode(tmp_path: Path) -> None:
    suite = copy_suite("../../examples/imagefilters", tmp_path)
    for mode in (None, "execute"):
        run = run_suite(suite, mode=mode)
        assert run.code == 0, run.output
        assert {outcome for outcome, _ in run.outcomes.values()} == {"passed"}


def test_a_pass_that_drops_launches_discards_what_reads(tmp_path: Path) -> None:
    suite = copy_suite("../../examples/imagefilters", tmp_path)
    run = run_suite(suite, "--gpu-device=cuda:0", mode="autotune")
    assert run.code == 0, run.output
    assert "discarded" in {outcome for outcome, _ in run.outcomes.values()}


def test_candidates_run_on_the_device_while_all_else_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_measured.py").write_text(MEASURED)
    run = run_suite(tmp_path, "--gpu-device=cuda:0", mode="autotune")
    assert [outcome for outcome, _ in run.outcomes.values()] == ["passed"], run.output
