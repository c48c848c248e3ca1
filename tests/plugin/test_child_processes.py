"""Child processes of tests: they start clean, and what they count reaches the session."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import RunSuite

LIBRARY = """
import cupy

def work(number):
    code = 'extern "C" __global__ void k(float* x) { x[0] = %d; }' % number
    cupy.RawKernel(code, "k")((1,), (1,), (cupy.zeros(1, "float32"),))
    return number
"""

TEST = """
import multiprocessing, os, warnings
import pytest
from library import work

warnings.simplefilter("ignore", DeprecationWarning)

@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_children_compile(start, gpu_stats):
    work(100)
    with multiprocessing.get_context(start).Pool(2) as pool:
        assert pool.map(work, [1, 2, 3, 100]) == [1, 2, 3, 100]
        pool.close()
        pool.join()
    gpu_stats.expect(obtained=1)
"""


@pytest.mark.parametrize("arguments", [[], ["-n", "2"]])
def test_what_children_count_reaches_the_session(run_files: RunSuite, arguments: list[str]) -> None:
    files = {"library.py": LIBRARY, "test_children.py": TEST}
    cold = run_files(files, *arguments)
    assert cold.code == 0, cold.output
    assert set(cold.outcomes.values()) == {("passed", 1)}
    children = cold.report["fixtures"]["children"]["statistics"]["compilation"]
    assert (children["registered"], children["abandoned"]) == (12, 0)
    assert cold.count("compiled") == 4
    assert cold.count("registered") == cold.count("compiled") + cold.count("loaded")
    warm = run_files(files, *arguments)
    assert (warm.code, warm.count("compiled")) == (0, 0), warm.output


FORKING = """
import os
import cupy
from library import work

def wait_for(child):
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

def test_a_child_ends_without_being_asked():
    work(0)
    child = os.fork()
    if not child:
        work(0)
        work(1)
        os._exit(0)
    wait_for(child)

def test_a_child_that_reads_and_fails():
    x = cupy.arange(3)
    child = os.fork()
    if not child:
        os._exit(int(x.sum()) != 3)
    wait_for(child)
"""


def test_forked_children_start_clean_and_compile_for_themselves(run_files: RunSuite) -> None:
    run = run_files({"library.py": LIBRARY, "test_forking.py": FORKING})
    assert run.code == 0, run.output
    outcomes = {name.partition("::")[2]: outcome for name, (outcome, _) in run.outcomes.items()}
    assert outcomes == {
        "test_a_child_ends_without_being_asked": "passed",
        "test_a_child_that_reads_and_fails": "discarded",
    }
    children = run.report["fixtures"]["children"]["statistics"]["compilation"]
    assert (children["compiled"], children["abandoned"]) == (2, 0)
