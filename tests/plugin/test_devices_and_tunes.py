"""Tuning through the plugin, on PoCL: measured, kept, recalled, and nothing of it touched."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plugin.conftest import RunSuite
from tests.plugin.suite_runs import SuiteRun, run_suite

EXAMPLE = Path(__file__).parents[2] / "examples" / "scaling"
ON_THE_CPU = ["-p", "no:randomly", "-p", "no:asyncio", "--gpu-device=opencl:0"]

RunExample = Callable[..., SuiteRun]


@pytest.fixture
def run_example(tmp_path: Path) -> RunExample:
    folder = tmp_path / "scaling"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".gpurt", "__pycache__"))
    return lambda mode, *arguments: run_suite(folder, *arguments, mode=mode)


def tunes(run: SuiteRun) -> tuple[int, int, int]:
    """Measured, persisted, recalled."""
    counts = run.report["statistics"]["autotune"]
    return counts["measured"], counts["persisted"], counts["recalled"]


def test_one_pass_measures_and_the_next_run_recalls(run_example: RunExample) -> None:
    measured = run_example("autotune", *ON_THE_CPU)
    assert measured.code == 0, measured.output
    assert tunes(measured) == (6, 6, 0)
    assert measured.output.count("ahead of") == 6
    assert {tune["tuner"] for tune in measured.report["tunes"]} == {"scale"}
    executed = run_example("execute", *ON_THE_CPU)
    assert executed.code == 0, executed.output
    assert tunes(executed) == (0, 0, 6)
    assert executed.count("compiled") == 0


MEASURED = """
import numpy
from gpurt_core.servers import Kernel
from gpurt_core.tune import Tunable, TunableSet, Tuner

ADD = Kernel(
    "add_one",
    opencl="__kernel void add_one(__global float *x) { x[get_global_id(0)] += 1; }",
    cuda='extern "C" __global__ void add_one(float *x) { x[threadIdx.x] += 1; }',
)

def test_what_is_measured_runs_and_what_is_not_does_not(gpu_device, gpu_stats):
    used, measured = (gpu_device.array(numpy.zeros(16, numpy.float32)) for _ in range(2))

    def add(x):
        gpu_device.launch(ADD, 1, 16, [x])

    ways = TunableSet(
        key=lambda x: "add",
        candidates=[Tunable("one way", add), Tunable("another", lambda x: add(x))],
        inputs=lambda x: (measured,),
    )
    Tuner("adding").execute(ways, used, stream=gpu_device.default_stream)
    assert gpu_stats.autotune.measured == 1
    assert (used.get() == 0).all()
    assert (measured.get() >= 4).all(), "a warm-up and a sample, at least, of both"
"""
"""For an autotune pass, on any device: code that uses it is dropped, and candidates run."""


def test_candidates_run_on_the_device_while_all_else_is_dropped(run_files: RunSuite) -> None:
    run = run_files({"test_measured.py": MEASURED}, "--gpu-device=opencl:0", mode="autotune")
    assert [outcome for outcome, _ in run.outcomes.values()] == ["passed"], run.output
    assert run.report["statistics"]["autotune"]["measured"] == 1


def test_workers_measure_each_key_once(run_example: RunExample) -> None:
    halves = [*ON_THE_CPU[:-1], "--gpu-device=opencl:0/*", "-n", "2"]
    measured = run_example("autotune", *halves)
    assert measured.code == 0, measured.output
    assert tunes(measured)[:2] == (6, 6)
    executed = run_example("execute", *halves)
    assert {outcome for outcome, _ in executed.outcomes.values()} == {"passed"}, executed.output
    assert tunes(executed) == (0, 0, 6), executed.output


def test_a_compile_only_pass_gathers_keys_and_compiles_both_candidates(
    run_example: RunExample,
) -> None:
    gathered = run_example("compile-only", *ON_THE_CPU)
    assert gathered.code == 0, gathered.output
    assert gathered.report["statistics"]["autotune"]["registered"] == 6
    assert gathered.count("compiled") == 2
    assert run_example("autotune", *ON_THE_CPU).count("compiled") == 0


def test_a_device_that_there_is_not_is_one_clear_line(run_example: RunExample) -> None:
    for address in ("opencl:99", "nothing:0", "what"):
        run = run_example("autotune", f"--gpu-device={address}")
        assert run.code == pytest.ExitCode.USAGE_ERROR
        assert "--gpu-mode=autotune measures on a device" in run.output
        assert "Traceback" not in run.output


OPENCL = """
import numpy, pyopencl as cl, pyopencl.array, pytest

SOURCE = "__kernel void k(__global float *x) { int i = get_global_id(0); x[i] = x[i] * 2 + 1; }"

@pytest.fixture(scope="module")
def queue():
    return cl.CommandQueue(cl.create_some_context(interactive=False))

def test_counts(queue, gpu_stats):
    x = cl.array.zeros(queue, 64, numpy.float32)
    cl.Program(queue.context, SOURCE).build().k(queue, (64,), None, x.data)
    gpu_stats.expect(obtained=1)

def test_reads(queue):
    x = cl.array.to_device(queue, numpy.ones(64, numpy.float32))
    cl.Program(queue.context, SOURCE).build().k(queue, (64,), None, x.data)
    assert (x.get() == 3).all()

def test_expects_an_error(queue):
    with pytest.raises(cl.RuntimeError):
        cl.Program(queue.context, SOURCE.replace("2", "missing")).build()
"""


def test_pyopencl_code_is_counted_and_steered(run_files: RunSuite) -> None:
    files = {"test_opencl.py": OPENCL}
    gathered = run_files(files)
    assert {t.rpartition("::")[2]: o for t, (o, _) in gathered.outcomes.items()} == {
        "test_counts": "passed",
        "test_reads": "discarded",
        "test_expects_an_error": "passed",
    }, gathered.output
    assert gathered.code == 0, gathered.output
    executed = run_files(files, mode="execute")
    assert executed.code == 0, executed.output
    assert executed.count("compiled") == 0


OPTIMIZING = """
import cupy, pytest
from cupyx import optimizing

@pytest.mark.parametrize("attempt", [1, 2])
def test_each_key_counts_once(attempt, gpu_stats):
    narrow, wide = cupy.zeros((64, 64), "float32"), cupy.zeros((32, 512), "float32")
    with optimizing.optimize(key="sums"):
        for _ in range(2):
            narrow.sum(axis=1)
            wide.sum(axis=1)
    assert gpu_stats.autotune.registered == 2
"""


def test_the_tunes_of_cupys_optimizer_are_counted(run_files: RunSuite) -> None:
    files = {"test_optimizing.py": OPTIMIZING}
    run = run_files(files, environment={"CUPY_ACCELERATORS": ""})
    assert run.code == 0, run.output
    assert run.report["statistics"]["autotune"]["registered"] == 4
    assert run.report["statistics"]["autotune"]["measured"] == 0
