"""Every suite of `tests/suites`, cold and warm, against its table."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import RunSuite
from tests.plugin.suite_runs import expected_of, table_of
from tests.suites.counts.expected import IN_THIS_ORDER_ONLY

ORDERED = ["-p", "no:randomly"]

COMPILED_WHEN_WARM = {
    "all_kernel_kinds": 0,
    "bad_kernels": 0,
    "counts": 1,  # in an environment of its own
    "eighty": 0,
    "import_time": 0,
    "introspection": 0,
    "kernel_identity": 3,  # headers in folders that are new in each run
    "multi_device": 0,
    "no_gpu": 0,
    "probes": 0,
    "pytest_kinds": 0,
    "streams": 0,
}
"""Suite to the kernels that it compiles, however warm the environment is."""


@pytest.mark.parametrize("name", COMPILED_WHEN_WARM)
def test_a_suite_comes_to_what_its_table_says_cold_and_warm(run: RunSuite, name: str) -> None:
    expected = expected_of(name)
    cold = run(name, "--gpu-arch=sm_80", *ORDERED)
    assert cold.outcomes == expected, cold.output
    warm = run(name, "--gpu-arch=sm_80", *ORDERED)
    assert warm.outcomes == expected, warm.output
    assert warm.count("compiled") == COMPILED_WHEN_WARM[name], warm.output
    assert warm.count("failed") == cold.count("failed")


@pytest.mark.parametrize("seed", [1, 2])
def test_counts_do_not_depend_on_order(run: RunSuite, seed: int) -> None:
    expected = expected_of("counts")
    shuffled = run("counts", "--gpu-arch=sm_80", f"--randomly-seed={seed}")
    for test in IN_THIS_ORDER_ONLY:
        del expected[test]
    assert {test: shuffled.outcomes[test] for test in expected} == expected, shuffled.output


def test_a_count_is_the_same_when_its_test_runs_alone(run: RunSuite) -> None:
    expected = expected_of("counts")
    for test in [test for test in expected if test.startswith("test_scopes.py")]:
        alone = run("counts", "--gpu-arch=sm_80", *ORDERED, test)
        assert alone.outcomes == {test: expected[test]}, alone.output


@pytest.mark.parametrize("architectures", ["sm_80,sm_80", "sm_80,sm_90"])
def test_two_devices_are_two_architectures_or_one_compiled_once(
    run: RunSuite, architectures: str
) -> None:
    expected = expected_of("multi_device", "EXPECTED_OF_TWO")
    two = run("multi_device", f"--gpu-arch={architectures}", *ORDERED)
    assert two.outcomes == expected, two.output


def test_probes_without_a_mode_say_what_they_say_without_the_plugin(run: RunSuite) -> None:
    content = table_of("probes", "EXPECTED_WITHOUT_MODE")
    plain = run("probes", *ORDERED, mode=None)
    assert {test: outcome for test, (outcome, _) in plain.outcomes.items()} == content


def test_streams_are_the_same_with_a_default_stream_for_each_thread(run: RunSuite) -> None:
    expected = expected_of("streams", "EXPECTED_PER_THREAD")
    variable = {"CUPY_CUDA_PER_THREAD_DEFAULT_STREAM": "1"}
    per_thread = run("streams", "--gpu-arch=sm_80", *ORDERED, environment=variable)
    assert per_thread.outcomes == expected, per_thread.output


def test_one_run_warms_every_architecture(run: RunSuite) -> None:
    both = run("counts", "--gpu-arch=sm_80,sm_90", *ORDERED)
    assert both.outcomes == expected_of("counts"), both.output
    assert "other architectures" in both.report["fixtures"]
    for arch in ("sm_80", "sm_90"):
        warm = run("counts", f"--gpu-arch={arch}", *ORDERED)
        assert warm.count("compiled") == COMPILED_WHEN_WARM["counts"], warm.output
