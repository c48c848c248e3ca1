"""What goes wrong ends in one clear line, and nothing that was kept is lost."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpurt_core.environment import Environment
from tests.plugin.conftest import RunSuite
from tests.plugin.suite_runs import SuiteRun

ONE_KERNEL = """
import cupy

def test_adds(gpu_stats):
    cupy.zeros(4, "float32") + cupy.zeros(4, "float32")
    gpu_stats.expect(obtained=1)
"""


def error_line(run: SuiteRun) -> str:
    """The one line that a run that could not start ends with."""
    lines = [line for line in run.output.splitlines() if line.startswith("ERROR: ")]
    assert len(lines) == 1, run.output
    assert "Traceback" not in run.output
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--gpu-mode=fast"], "unknown --gpu-mode 'fast': choose from compile-only, autotune, ex"),
        (["--gpu-mode=compile-only", "--gpu-arch=sm_12"], "unknown architecture 'sm_12'"),
        (["--gpu-mode=compile-only", "--gpu-arch=hopper"], "unknown architecture 'hopper'"),
        (["--gpu-mode=compile-only", "--gpu-jobs=0"], "--gpu-jobs must be a whole number from 1"),
        (["--gpu-mode=compile-only", "--gpu-jobs=two"], "not 'two'"),
        (["--gpu-mode=compile-only", "-o", "gpu_environment_limit=big"], "a size such as 500MB"),
    ],
)
def test_an_option_that_makes_no_sense_is_a_usage_error(
    run_files: RunSuite, arguments: list[str], said: str
) -> None:
    run = run_files({"test_one.py": ONE_KERNEL}, *arguments, mode=None)
    assert run.code == pytest.ExitCode.USAGE_ERROR
    assert said in error_line(run)


NO_NVRTC = """
from gpurt_core.adapters.cupy.early import when_imported

def fail(*arguments):
    raise OSError("libnvrtc.so.13 cannot be opened")

when_imported("cupy.cuda.compiler", lambda module: setattr(module, "_preprocess", fail))
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
@pytest.mark.parametrize("imports_in", ["test", "file"])
def test_a_run_without_a_compiler_ends_with_what_to_install(
    run_files: RunSuite, workers: list[str], imports_in: str
) -> None:
    ends = {"file": ("import cupy", "pass"), "test": ("", "import cupy")}[imports_in]
    test = "{}\ndef test_one(): pass\ndef test_two(): {}\n".format(*ends)
    files = {"no_nvrtc.py": NO_NVRTC, "test_imports.py": test}
    path = {"PYTHONPATH": "."}
    run = run_files(files, "-p", "no_nvrtc", *workers, environment=path, with_report=False)
    assert run.code == pytest.ExitCode.USAGE_ERROR, run.output
    assert "NVRTC, the compiler of CUDA, cannot be used: libnvrtc.so.13 cannot be" in run.output
    assert "pip install 'pytest-gpurt[cuda13]' brings it" in run.output
    assert "INTERNALERROR" not in run.output


def test_options_come_from_the_ini_file_and_the_command_line_wins(run_files: RunSuite) -> None:
    files = {"test_one.py": ONE_KERNEL}
    ini = ["-o", "gpu_mode=compile-only", "-o", "gpu_arch=sm_80", "-o", "gpu_environment=kept"]
    run = run_files(files, *ini, mode=None)
    assert run.report["mode"] == "compile-only"
    assert run.report["architectures"] == ["sm_80"]
    assert "environment: kept (0 kernels)" in run.output
    run = run_files(files, *ini, "--gpu-arch=sm_90", mode=None)
    assert run.report["architectures"] == ["sm_90"]


def test_an_environment_that_is_a_file_ends_the_run_at_its_start(
    run_files: RunSuite, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    run = run_files({"test_one.py": ONE_KERNEL}, f"--gpu-environment={path}")
    assert run.code == pytest.ExitCode.USAGE_ERROR
    assert f"environment {path}: it is a file, not a folder; choose another" in error_line(run)
    assert path.read_text() == "mine"


def test_a_database_of_somebody_elses_is_left_alone(run_files: RunSuite, tmp_path: Path) -> None:
    folder = tmp_path / "env"
    folder.mkdir()
    connection = sqlite3.connect(folder / "environment.db")
    connection.execute("CREATE TABLE theirs (x)")
    connection.commit()
    connection.close()
    before = (folder / "environment.db").read_bytes()
    run = run_files({"test_one.py": ONE_KERNEL}, f"--gpu-environment={folder}")
    assert run.code == pytest.ExitCode.USAGE_ERROR
    assert "is no environment of gpurt" in error_line(run)
    assert (folder / "environment.db").read_bytes() == before


def test_a_damaged_environment_is_replaced_and_said_so(run_files: RunSuite, tmp_path: Path) -> None:
    files = {"test_one.py": ONE_KERNEL}
    run_files(files)
    path = tmp_path / "written" / ".gpurt" / "environment.db"
    os.truncate(path, 5000)
    run = run_files(files)
    assert run.code == 0, run.output
    assert run.output.count("was damaged") == 1
    assert run.count("compiled") == 1
    assert run_files(files).count("loaded") == 1


def test_a_damaged_artifact_is_compiled_again(run_files: RunSuite, tmp_path: Path) -> None:
    files = {"test_one.py": ONE_KERNEL}
    run_files(files)
    path = tmp_path / "written" / ".gpurt" / "environment.db"
    connection = sqlite3.connect(path)
    connection.execute("UPDATE artifacts SET content = substr(content, 1, 100)")
    connection.commit()
    connection.close()
    assert run_files(files).count("compiled") == 1
    assert run_files(files).count("loaded") == 1


UNHANDLED = """
import cupy
BAD = cupy.RawKernel('extern "C" __global__ void broken(float* x) { x[0] = missing; }', "broken")

def pytest_collection_finish(session):
    import threading
    def launch():
        try:
            BAD((1,), (1,), (cupy.zeros(1, "float32"),))
        except Exception:
            pass
    launch()
"""


def test_a_kernel_that_fails_and_that_no_test_has_reached_makes_the_run_fail(
    run_files: RunSuite,
) -> None:
    run = run_files({"conftest.py": UNHANDLED, "test_one.py": ONE_KERNEL})
    assert run.code == pytest.ExitCode.TESTS_FAILED, run.output
    assert "kernel broken does not compile" in run.output
    assert 'identifier "missing" is undefined' in run.output
    assert run.report["failures"][0]["label"] == "broken"


def test_a_report_that_cannot_be_written_is_said_and_the_run_goes_on(run_files: RunSuite) -> None:
    run = run_files({"test_one.py": ONE_KERNEL}, "--gpu-report=/proc/nope/report.json")
    assert run.code == 0, run.output
    assert "--gpu-report /proc/nope/report.json: " in run.output


MANY = """
import cupy, pytest

@pytest.mark.parametrize("number", range(60))
def test_one_of_many(number):
    code = 'extern "C" __global__ void k(float* x) { x[0] = %d; }' % number
    cupy.RawKernel(code, "k")((1,), (1,), (cupy.zeros(1, "float32"),))

def test_waits():
    import time
    time.sleep(3)  # what was gathered is written down every two seconds

def test_dies():
    import os
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_run_had_gathered_is_compiled_by_the_next(
    run_files: RunSuite, tmp_path: Path
) -> None:
    killed = run_files({"test_many.py": MANY})
    assert killed.code == -signal.SIGKILL
    with Environment.open(tmp_path / "written" / ".gpurt") as environment:
        assert environment.health().queued >= 60
        assert environment.health().artifacts == 0
    following = run_files({"test_many.py": ONE_KERNEL})
    assert following.code == 0, following.output
    assert following.count("compiled") == 61
    with Environment.open(tmp_path / "written" / ".gpurt") as environment:
        assert environment.health().queued == 0
        assert environment.health().artifacts == 61


SLOW = (
    MANY.replace("range(60)", "range(150)")
    .replace("os.kill(os.getpid(), 9)", "pass")
    .replace("time.sleep(3)", "pass")
)


def _heed_interrupts() -> None:
    """Where a shell has put the tests into the background they are ignored, and children inherit
    that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupted_batch_keeps_what_it_finished_and_leaves_nobody_behind(
    run_files: RunSuite, tmp_path: Path
) -> None:
    folder = tmp_path / "written"
    folder.mkdir()
    (folder / "test_many.py").write_text(SLOW)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "--gpu-mode=compile-only", "-p", "no:randomly"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=_heed_interrupts,
    )
    environment = Environment.open(folder / ".gpurt")
    while environment.health().artifacts < 5:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    kept = environment.health().artifacts
    assert all(environment.artifact(id) is not None for id in environment.known("k"))
    environment.close()
    assert 5 <= kept < 151
    left = subprocess.run(
        ["pgrep", "-f", str(folder)], capture_output=True, text=True, check=False
    ).stdout.split()
    assert left == []
    following = run_files({"test_many.py": SLOW})
    assert following.code == 0, following.output
    assert following.count("compiled") + kept == 150


FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
"""


def test_a_full_disk_ends_in_how_much_was_stored(run_files: RunSuite) -> None:
    run = run_files({"conftest.py": FULL, "test_many.py": SLOW})
    assert run.code == pytest.ExitCode.TESTS_FAILED, run.output
    assert f"stored {run.count('stored')} of 150" in run.output, run.output
    assert "nothing more can be stored" in run.output
    assert "INTERNALERROR" not in run.output


def test_pytest_called_from_python_after_cupy_was_imported_says_what_to_do(
    run_files: RunSuite, tmp_path: Path
) -> None:
    run_files({"test_one.py": ONE_KERNEL})
    script = "import cupy, pytest; raise SystemExit(pytest.main(['--gpu-mode=compile-only']))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path / "written",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "CuPy was imported before pytest started" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
