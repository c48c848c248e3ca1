"""Counting without a mode, and with the kernels of an environment: the same counts."""

from __future__ import annotations

from pathlib import Path

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


def test_a_run_that_only_counts_makes_no_folder(run: RunSuite, tmp_path: Path) -> None:
    counted = run("eighty", "-q", mode=None, environment=NULL_DEVICE)
    assert counted.count("compiled") == 84
    assert "gpurt: " not in counted.output.split("\n")[0]
    assert not (tmp_path / "eighty" / ".gpurt").exists()


def test_an_environment_that_was_warmed_serves_the_run_that_executes(run: RunSuite) -> None:
    warmed = run("eighty", "--gpu-arch=sm_80", mode="compile-only")
    assert warmed.count("compiled") == 84
    executed = run("eighty", mode="execute", environment=NULL_DEVICE)
    assert (executed.count("compiled"), executed.count("loaded")) == (0, 84)


def test_a_suite_without_gpu_code_is_told_nothing(run: RunSuite) -> None:
    quiet = run("no_gpu", mode=None)
    assert "gpurt" not in quiet.output.split("plugins:")[1].split("\n", 1)[1].replace("no_gpu", "")


NAMES_CUPY = """[pytest]
asyncio_default_fixture_loop_scope = function
filterwarnings =
    error::cupy.exceptions.ComplexWarning
"""

ONE = """
import cupy
ARCH = cupy.cuda.Device().compute_capability

def test_adds(gpu_stats):
    assert ARCH == "80"
    cupy.zeros(4, "float32") + cupy.zeros(4, "float32")
    gpu_stats.expect(obtained=1)
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_run_whose_settings_import_cupy_first_starts_anew(
    run_files: RunSuite, tmp_path: Path, workers: list[str]
) -> None:
    files = {"pytest.ini": NAMES_CUPY, "test_one.py": ONE}
    for compiled in (1, 0):
        run = run_files(files, "--gpu-arch=sm_80", *workers)
        assert run.code == 0, run.output
        assert run.count("compiled") == compiled
    plain = run_files(files, "--collect-only", mode=None)
    assert plain.code == 0 or "cudaErrorInsufficientDriver" in plain.output


LATE = """
import pytest

def launch(n):
    import cupy
    code = 'extern "C" __global__ void k(float* x) { x[0] = %d; }' % n
    cupy.RawKernel(code, "k")((1,), (1,), (cupy.zeros(1, "float32"),))

def test_without():
    pass

def test_imports_it():
    launch(1)
    launch(2)

@pytest.fixture(scope="module")
def shared():
    launch(3)

def test_comes_later(shared):
    launch(4)
"""


def test_counting_starts_in_the_middle_of_the_test_that_imports_cupy(run_files: RunSuite) -> None:
    run = run_files({"test_late.py": LATE}, mode=None, environment=NULL_DEVICE)
    assert run.code == 0, run.output
    counted = {name.partition("::")[2]: n for name, (_, n) in run.outcomes.items()}
    assert counted == {"test_without": 0, "test_imports_it": 2, "test_comes_later": 1}
    fixture = run.report["fixtures"]["module fixture shared of test_late.py"]["statistics"]
    assert fixture["compilation"]["registered"] == 1


NOTHING = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    names = [name for name, _ in session.config.pluginmanager.list_name_plugin()]
    assert "gpurt-watch" in names
    assert "gpurt-scopes" not in names

@pytest.hookimpl(trylast=True)
def pytest_unconfigure():
    import sys
    mine = sorted(name for name in sys.modules if name.startswith("gpurt_core."))
    print("of the core:", *mine)
"""


def test_a_suite_without_gpu_code_has_no_hooks_around_its_tests(run_files: RunSuite) -> None:
    """And nothing is imported for it but what waits for an import."""
    files = {"conftest.py": NOTHING, "test_plain.py": "def test_one(tmp_path): pass"}
    run = run_files(files, mode=None, with_report=False)
    of_the_core = "gpurt_core.adapters gpurt_core.adapters.cupy gpurt_core.adapters.cupy.early"
    assert f"of the core: {of_the_core}\n" in run.output, run.output
    assert "INTERNALERROR" not in run.output
    assert "1 passed" in run.output
