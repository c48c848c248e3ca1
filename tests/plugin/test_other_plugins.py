"""Runs with what people have installed beside this plugin: reruns, subtests, XML, random order."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.plugin.conftest import RunSuite

FLAKY = """
import unittest
import cupy, pytest

tries = []

def launch(n):
    code = 'extern "C" __global__ void k(float* x) { x[0] = %d; }' % n
    cupy.RawKernel(code, "k")((1,), (1,), (cupy.zeros(1, "float32"),))

def test_fails_once(gpu_stats):
    launch(1)
    gpu_stats.expect(obtained=1)
    tries.append(1)
    assert len(tries) > FAILURES

class TestSubtests(unittest.TestCase):
    def test_each(self):
        for number in range(3):
            with self.subTest(number=number):
                launch(2 + number)

def test_steady(gpu_stats):
    launch(5)
    launch(1)
    gpu_stats.expect(obtained=2)
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_test_that_is_run_again_counts_once(run_files: RunSuite, workers: list[str]) -> None:
    # The first failure, without a read, is looked at again eagerly; the second is a real one.
    files = {"test_flaky.py": FLAKY.replace("FAILURES", "2")}
    run = run_files(files, "--reruns", "2", *workers)
    assert run.code == 0, run.output
    assert "1 rerun" in run.output
    flaky = run.report["tests"]["test_flaky.py::test_fails_once"]
    assert flaky["outcome"] == "passed"
    assert flaky["statistics"]["compilation"]["registered"] == 1
    assert len(flaky["attempts"]) == 3
    counts = [attempt["compilation"]["compiled"] for attempt in flaky["attempts"]]
    assert sum(counts) == 1, counts
    assert run.count("compiled") == 5
    assert run.outcomes["test_flaky.py::test_steady"] == ("passed", 2)


def test_subtests_are_reported_and_their_kernels_are_the_tests(run_files: RunSuite) -> None:
    run = run_files({"test_flaky.py": FLAKY.replace("FAILURES", "0")})
    assert run.code == 0, run.output
    assert run.outcomes["test_flaky.py::TestSubtests::test_each"] == ("passed", 3)


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_xml_reports_are_those_of_pytest(
    run_files: RunSuite, tmp_path: Path, workers: list[str]
) -> None:
    run = run_files(
        {"test_flaky.py": FLAKY.replace("FAILURES", "0")}, "--junitxml=junit.xml", *workers
    )
    assert run.code == 0, run.output
    suite = ElementTree.parse(tmp_path / "written" / "junit.xml").getroot()[0]
    cases = suite.findall("testcase")
    assert sorted(case.get("name") or "" for case in cases) == [
        "test_each",
        "test_fails_once",
        "test_steady",
    ]
    assert {child.tag for case in cases for child in case} == set()


@pytest.mark.parametrize("seed", [1, 2])
def test_random_order_over_workers_counts_the_same(run_files: RunSuite, seed: int) -> None:
    files = {"test_flaky.py": FLAKY.replace("FAILURES", "0")}
    run = run_files(files, "-p", "randomly", f"--randomly-seed={seed}", "-n", "2")
    assert run.count("compiled") == 5, run.output


KERNELS = """
import cupy, pytest

@pytest.mark.parametrize("number", range(16))
def test_of_many(number, gpu_stats):
    for n in (number, number % 4):
        code = 'extern "C" __global__ void k(float* x) { x[0] = %d; }' % n
        cupy.RawKernel(code, "k")((1,), (1,), (cupy.zeros(1, "float32"),))
    gpu_stats.expect(obtained=len({number, number % 4}))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["-n", "auto", "--maxprocesses=3"],
        ["-n", "2", "--dist=loadfile"],
        ["-n", "2", "--dist=loadscope"],
        ["-n", "2", "--dist=loadgroup"],
        ["-n", "2", "--dist=worksteal"],
        ["-n", "2", "--dist=each"],
        ["--dist=load", "--tx", f"2*popen//python={sys.executable}"],
    ],
    ids=" ".join,
)
def test_every_way_of_distributing_compiles_each_kernel_once(
    run_files: RunSuite, arguments: list[str]
) -> None:
    files = {"test_many.py": KERNELS}
    cold = run_files(files, *arguments)
    assert cold.code == 0, cold.output
    assert cold.count("compiled") == 16, cold.output
    expected = {n: 1 if n < 4 else 2 for n in range(16)}
    assert cold.outcomes == {
        f"test_many.py::test_of_many[{n}]": ("passed", obtained) for n, obtained in expected.items()
    }
    assert run_files(files, *arguments).count("compiled") == 0


def test_a_failure_ends_a_run_that_is_to_end_with_it(run_files: RunSuite) -> None:
    failing = KERNELS.replace("    for n in", "    assert number != 3\n    for n in")
    for workers in ([], ["-n", "2"]):
        run = run_files({"test_many.py": failing}, "-x", *workers)
        assert run.code in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED), run.output
        assert workers or "gathered and not compiled" in run.output, run.output
        assert "INTERNALERROR" not in run.output


def test_workers_stop_compiling_when_the_run_ends_early(run_files: RunSuite) -> None:
    many = KERNELS.replace("range(16)", "range(400)").replace(
        "    for n in", "    assert number != 390\n    for n in"
    )
    run = run_files({"test_many.py": many}, "-x", "-n", "2")
    assert "INTERNALERROR" not in run.output
    left = re.search(r"(\d+) kernels gathered and not compiled", run.output)
    assert left, run.output
    assert 0 < int(left[1]) < 400
    whole = run_files({"test_many.py": KERNELS}, "-n", "2")
    assert whole.code == 0


BAD = """
import cupy

def test_bad():
    code = 'extern "C" __global__ void b(float* x) { x[0] = nope; }'
    cupy.RawKernel(code, "b")((1,), (1,), (cupy.zeros(1, "float32"),))

def test_falls_back():
    try:
        cupy.RawKernel('extern "C" __global__ void f() { nope; }', "f")((1,), (1,), ())
    except cupy.cuda.compiler.CompileException:
        cupy.RawKernel('extern "C" __global__ void g() {}', "g")((1,), (1,), ())
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_reruns_do_not_make_a_kernel_that_fails_pass(
    run_files: RunSuite, workers: list[str]
) -> None:
    run = run_files({"test_bad.py": BAD}, "--reruns", "1", *workers)
    assert run.code == pytest.ExitCode.TESTS_FAILED
    assert run.outcomes["test_bad.py::test_bad"][0] == "failed", run.output
    assert run.outcomes["test_bad.py::test_falls_back"] == ("passed", 1)
    assert '"nope" is undefined' in run.output


def test_xml_has_a_test_that_runs_again_once(run_files: RunSuite, tmp_path: Path) -> None:
    run = run_files({"test_bad.py": BAD}, "--junitxml=junit.xml")
    assert run.code == pytest.ExitCode.TESTS_FAILED
    suite = ElementTree.parse(tmp_path / "written" / "junit.xml").getroot()[0]
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "2", "failures": "1", "errors": "0", "skipped": "0"}
    assert [(case.get("name"), len(case)) for case in suite.findall("testcase")] == [
        ("test_bad", 1),
        ("test_falls_back", 0),
    ]


BROKEN_AT_FIRST = """
import os, cupy

def test_reads():
    assert "BROKEN" not in os.environ
    assert (cupy.zeros(4, "float32") + 1).get().tolist() == [1.0] * 4

def test_does_not():
    assert "BROKEN" not in os.environ
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_discarded_test_stays_among_those_that_failed_last(
    run_files: RunSuite, tmp_path: Path, workers: list[str]
) -> None:
    files = {"test_broken.py": BROKEN_AT_FIRST}
    broken = run_files(files, *workers, environment={"BROKEN": "1"}, with_cache=True)
    assert {outcome for outcome, _ in broken.outcomes.values()} == {"failed"}, broken.output
    run_files(files, *workers, with_cache=True)
    kept = json.loads((tmp_path / "written/.pytest_cache/v/cache/lastfailed").read_text())
    assert list(kept) == ["test_broken.py::test_reads"]
