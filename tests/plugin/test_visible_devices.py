"""Each worker has a CUDA device of its own first, where there are several."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_gpurt.visible_devices import put_own_device_first
from tests.plugin.conftest import RunSuite


@pytest.mark.parametrize(
    ("worker", "given", "expected"),
    [
        ("gw0", "3,5", "3,5"),
        ("gw1", "3,5", "5,3"),
        ("gw2", "3, 5", "3,5"),
        ("gw4", "GPU-a,GPU-b,GPU-c", "GPU-b,GPU-c,GPU-a"),
        ("gw1", "3", "3"),
        ("gw1", "", ""),
        ("gw1", "0,1,-1,2", "1,0"),
        ("", "3,5", "3,5"),
    ],
)
def test_the_list_that_is_given_is_turned(worker: str, given: str, expected: str) -> None:
    environ = {"PYTEST_XDIST_WORKER": worker, "CUDA_VISIBLE_DEVICES": given}
    put_own_device_first(environ)
    assert environ["CUDA_VISIBLE_DEVICES"] == expected


def test_without_a_list_the_driver_says_how_many_there_are(tmp_path: Path) -> None:
    for name in ("0000:01:00.0", "0000:02:00.0", "0000:03:00.0"):
        (tmp_path / name).mkdir()
    environ = {"PYTEST_XDIST_WORKER": "gw2"}
    put_own_device_first(environ, tmp_path)
    assert environ["CUDA_VISIBLE_DEVICES"] == "2,0,1"
    environ = {"PYTEST_XDIST_WORKER": "gw2"}
    put_own_device_first(environ, tmp_path / "no driver")
    assert environ == {"PYTEST_XDIST_WORKER": "gw2"}


SEEN = """
import os, time
import pytest

@pytest.mark.parametrize("number", range(4))
def test_sees(number):
    time.sleep(0.2)
    with open("seen", "a") as seen:
        seen.write(os.environ["CUDA_VISIBLE_DEVICES"] + "\\n")
"""


@pytest.mark.parametrize(
    ("mode", "expected"), [("execute", {"6,7", "7,6"}), (None, {"6,7"}), ("compile-only", {"6,7"})]
)
def test_workers_have_them_in_the_modes_that_use_them(
    run_files: RunSuite, tmp_path: Path, mode: str | None, expected: set[str]
) -> None:
    variables = {"CUDA_VISIBLE_DEVICES": "6,7"}
    run = run_files({"test_seen.py": SEEN}, "-n", "2", mode=mode, environment=variables)
    assert run.code == 0, run.output
    assert set((tmp_path / "written" / "seen").read_text().split()) == expected
