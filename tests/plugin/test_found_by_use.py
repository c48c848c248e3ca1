"""What people ran into who tried the plugin on suites of theirs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpurt_core.environment import Environment
from tests.plugin.conftest import RunSuite

ON_TWO = """
import cupy, pytest
from cupy.cuda.compiler import CompileException

NEW = '''
#if __CUDA_ARCH__ < 900
#error too old
#endif
extern "C" __global__ void fast(float* x) { x[0] = 1; }
'''

def test_expects_an_error():
    with pytest.raises(CompileException):
        cupy.RawKernel('extern "C" __global__ void bad() { nope; }', "bad")((1,), (1,), ())

def test_falls_back():
    x = cupy.zeros(1, "float32")
    try:
        cupy.RawKernel(NEW, "fast")((1,), (1,), (x,))
    except CompileException:
        cupy.RawKernel('extern "C" __global__ void slow(float* x) {}', "slow")((1,), (1,), (x,))
"""


@pytest.mark.parametrize("architectures", ["sm_80,sm_90", "sm_90,sm_80"])
def test_what_does_not_compile_for_another_architecture_is_said(
    run_files: RunSuite, architectures: str
) -> None:
    run = run_files({"test_two.py": ON_TWO}, f"--gpu-arch={architectures}")
    assert run.code == 0, run.output
    assert "bad does not compile" not in run.output
    said = "warning: fast does not compile for sm_80: --gpu-arch=sm_80 alone shows what its tests"
    assert (said in run.output) == (architectures == "sm_90,sm_80"), run.output


def test_an_import_error_of_a_tests_own_is_none_of_a_missing_library(run_files: RunSuite) -> None:
    files = {
        # Of both there is no telling whether cublas is installed.
        "test_a.py": "import cupyx.scipy.signal\ndef test_a(): pass",
        "test_again.py": "from cupyx.scipy.signal import convolve\ndef test_a(): pass",
        "test_wrong.py": "from json import no_such_name\ndef test_b(): pass",
        "test_wrong_too.py": "None.no_such_thing\ndef test_c(): pass",
    }
    run = run_files(files, "-rE")
    assert run.code == pytest.ExitCode.INTERRUPTED, run.output
    assert "ERROR test_wrong.py" in run.output
    assert "ERROR test_wrong_too.py" in run.output
    assert "ERROR test_a" not in run.output


@pytest.mark.parametrize("name", ["sm_75a", "compute_75", "sm_75f"])
def test_other_spellings_of_an_architecture(run_files: RunSuite, name: str) -> None:
    files = {"test_one.py": "import cupy\ndef test_a(): cupy.ones(3) + 1"}
    run = run_files(files, f"--gpu-arch={name}")
    assert run.code == 0, run.output
    assert run.report["architectures"] == ["sm_75"]


STALE = """
import cupy, numpy

def test_fills_the_pool():
    keep = [cupy.asarray(numpy.full(1, 5.0)) for _ in range(64)]
    assert float(keep[0][0]) == 6.0  # which keeps them for longer

def test_reads_what_nobody_wrote(gpu_stats):
    y = cupy.ones(1)
    if float(y[0]) < 3:
        y * 3
    gpu_stats.expect(obtained=2)
"""


def test_what_is_read_of_new_memory_does_not_depend_on_tests_before(run_files: RunSuite) -> None:
    name = "test_stale.py::test_reads_what_nobody_wrote"
    for arguments in ([], [name], ["-n", "2"]):
        run = run_files({"test_stale.py": STALE}, *arguments)
        assert run.outcomes[name] == ("passed", 2), run.output


IPC = """
import cupy

def test_shares_memory():
    assert len(cupy.cuda.runtime.ipcGetMemHandle(cupy.zeros(4).data.ptr)) == 64
"""


def test_what_needs_a_driver_is_skipped_with_that_reason(run_files: RunSuite) -> None:
    run = run_files({"test_ipc.py": IPC}, "-rs")
    assert run.outcomes["test_ipc.py::test_shares_memory"][0] == "skipped"
    assert "CUDA IPC" in run.output


SLOW_KERNELS = """
import cupy, pytest

@pytest.mark.parametrize("i", range(60))
def test_m(i):
    name = "m%d" % i
    code = '#include <cooperative_groups.h>\\nextern "C" __global__ void %s(float* x) {}' % name
    cupy.RawKernel(code, name)((1,), (1,), (cupy.zeros(1, "float32"),))
"""


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_an_interrupted_batch_leaves_no_thread_that_goes_on_compiling(
    tmp_path: Path, workers: list[str]
) -> None:
    (tmp_path / "test_slow.py").write_text(SLOW_KERNELS)
    command = [sys.executable, "-m", "pytest", "-q", "--gpu-mode=compile-only", "-p", "no:randomly"]
    process = subprocess.Popen(
        [*command, *workers],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=_heed_interrupts,
    )
    with Environment.open(tmp_path / ".gpurt") as environment:
        while environment.health().artifacts < 4:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        kept = environment.health().artifacts
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert "Traceback" not in output, output
    assert kept < 30, output  # what had been before, and what was compiling


FLAKY = """
import cupy
seen = []

def test_fails_once_without_a_kernel():
    seen.append(1)
    assert len(seen) > 2

def test_always_fails():
    assert False
"""


def test_reruns_see_failures_that_reached_no_kernel(run_files: RunSuite) -> None:
    run = run_files({"test_flaky.py": FLAKY}, "--reruns", "2")
    assert run.outcomes["test_flaky.py::test_fails_once_without_a_kernel"][0] == "passed"
    assert run.outcomes["test_flaky.py::test_always_fails"][0] == "failed"
    assert "3 rerun" in run.output, run.output


def test_the_first_failure_ends_the_second_look_where_it_is_to(run_files: RunSuite) -> None:
    source = "".join(
        f"""
def test_bad_{number}():
    import cupy
    code = 'extern "C" __global__ void b{number}() {{ nope; }}'
    cupy.RawKernel(code, "b{number}")((1,), (1,), ())
"""
        for number in range(4)
    )
    run = run_files({"test_bad.py": source}, "--maxfail=1")
    assert run.code != 0
    assert " 1 failed" in run.output, run.output
