"""Runs over pytest-xdist: the same counts, each kernel once, and what a dead worker leaves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpurt_core.environment import Environment
from tests.plugin.conftest import RunSuite
from tests.plugin.suite_runs import copy_suite, expected_of
from tests.suites.counts.expected import IN_THIS_ORDER_ONLY

MANY = """
import cupy, pytest

@pytest.mark.parametrize("number", range(90))
def test_shares_kernels_with_others(number, gpu_stats):
    for n in (number % 30, 30 + number % 10):
        code = 'extern "C" __global__ void k(float* x) { x[0] = %d; }' % n
        cupy.RawKernel(code, "k")((1,), (1,), (cupy.zeros(1, "float32"),))
    gpu_stats.expect(obtained=2)
"""


@pytest.mark.parametrize("name", ["counts", "bad_kernels", "kernel_identity", "import_time"])
def test_workers_come_to_what_one_process_does(run: RunSuite, name: str) -> None:
    expected = expected_of(name)
    workers = run(name, "--gpu-arch=sm_80", "-p", "no:randomly", "-n", "2")
    for test in IN_THIS_ORDER_ONLY if name == "counts" else ():
        del expected[test]
    assert {test: workers.outcomes[test] for test in expected} == expected, workers.output


@pytest.mark.parametrize("workers", [2, 8])
def test_each_kernel_is_compiled_once_by_all_workers_together(
    run_files: RunSuite, workers: int
) -> None:
    cold = run_files({"test_many.py": MANY}, "-n", str(workers))
    assert cold.code == 0, cold.output
    assert cold.count("compiled") == 40, cold.output
    assert cold.count("registered") >= 180
    assert {outcome for outcome, _ in cold.outcomes.values()} == {"passed"}
    assert {obtained for _, obtained in cold.outcomes.values()} == {2}
    warm = run_files({"test_many.py": MANY}, "-n", str(workers))
    assert (warm.count("compiled"), warm.count("failed")) == (0, 0), warm.output


DYING = """
import cupy, os, pytest

def launch(n):
    code = 'extern "C" __global__ void k(float* x) { x[0] = %d; }' % n
    cupy.RawKernel(code, "k")((1,), (1,), (cupy.zeros(1, "float32"),))

def test_first():
    for n in range(3):
        launch(n)

def test_dies():
    launch(3)
    os._exit(1)

@pytest.mark.parametrize("number", range(20))
def test_goes_on(number):
    launch(10 + number % 5)
"""


@pytest.mark.parametrize("arguments", [[], ["--max-worker-restart=0"], ["--dist=loadfile"]])
def test_of_a_worker_that_dies_the_others_finish_what_is_left(
    run_files: RunSuite, arguments: list[str]
) -> None:
    run = run_files({"test_dying.py": DYING}, "-n", "2", *arguments)
    assert run.code == pytest.ExitCode.TESTS_FAILED, run.output
    assert "INTERNALERROR" not in run.output
    assert "crashed" in run.output
    assert run.outcomes["test_dying.py::test_dies"][0] == "error"
    assert "gpurt: compile-only" in run.output
    assert "incomplete: a worker died in test_dying.py::test_dies\n" in run.output
    incomplete = [test for test, said in run.report["tests"].items() if said.get("incomplete")]
    assert incomplete == ["test_dying.py::test_dies"]
    assert run.count("registered") == sum(
        run.count(name) for name in ("compiled", "loaded", "failed", "abandoned")
    )


def test_no_process_is_left_after_workers_died(run_files: RunSuite, tmp_path: Path) -> None:
    run_files({"test_dying.py": DYING}, "-n", "2")
    left = subprocess.run(
        ["pgrep", "-f", str(tmp_path)], capture_output=True, text=True, check=False
    ).stdout.split()
    assert [pid for pid in left if pid != str(os.getpid())] == []
    with Environment.open(tmp_path / "written" / ".gpurt") as environment:
        ids = environment.known("k")
        assert all(environment.artifact(id) is not None for id in ids)


@pytest.mark.parametrize(
    "arguments", [["-p", "no:xdist"], ["-n", "0"], ["-n", "1"], ["--dist", "no"]]
)
def test_without_workers_or_with_one_nothing_counts_twice(
    run_files: RunSuite, arguments: list[str]
) -> None:
    run = run_files({"test_many.py": MANY}, *arguments)
    assert run.code == 0, run.output
    assert (run.count("compiled"), run.count("registered")) == (40, 180)


def test_a_failed_kernel_is_looked_at_again_by_the_worker_that_had_it(run_files: RunSuite) -> None:
    failing = MANY.replace("x[0] = %d;", "x[0] = missing%d;").replace("range(90)", "range(4)")
    run = run_files({"test_many.py": failing}, "-n", "2")
    assert run.code == pytest.ExitCode.TESTS_FAILED
    assert {outcome for outcome, _ in run.outcomes.values()} == {"failed"}, run.output
    assert " 4 failed" in run.output
    assert "INTERNALERROR" not in run.output


OPENCL = """
import numpy, pyopencl, pytest

@pytest.mark.parametrize("number", range(24))
def test_builds(number, gpu_stats):
    context = pyopencl.Context(pyopencl.get_platforms()[0].get_devices()[:1])
    source = "__kernel void k(__global float* x) { x[0] = %d; }" % (number % 6)
    program = pyopencl.Program(context, source).build()
    queue = pyopencl.CommandQueue(context)
    memory = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 4)
    program.k(queue, (1,), None, memory)
    gpu_stats.expect(obtained=1)
"""


def test_programs_of_opencl_are_built_once_by_all_workers_together(run_files: RunSuite) -> None:
    for expected in (6, 0):
        run = run_files({"test_opencl.py": OPENCL}, "-n", "3")
        assert run.code == 0, run.output
        assert run.count("compiled") == expected, run.output


def test_on_a_terminal_it_is_seen_how_far_workers_are(tmp_path: Path) -> None:
    suite = copy_suite("eighty", tmp_path)
    command = f"{sys.executable} -m pytest --gpu-mode=compile-only -n 2 -p no:cacheprovider"
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        cwd=suite,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "GPURT"))},
    )
    assert done.returncode == 0, done.stdout
    moving = re.findall(r"compiling kernels: (\d+) of (\d+), [\d.]+ per second", done.stdout)
    assert moving, done.stdout
    assert re.search(r"compiling kernels: \d+ of \d+ in [\d.]+ s", done.stdout)
