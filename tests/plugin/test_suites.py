"""Every suite of `tests/suites`, cold and warm, against its table."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import RunSuite
from tests.plugin.suite_runs import expected_of
from tests.suites.counts.expected import IN_THIS_ORDER_ONLY

ORDERED = ["-p", "no:randomly"]

SUITES = ["all_kernel_kinds", "bad_kernels", "counts", "eighty", "no_gpu"]

FRESH = "test_a_fresh_environment_has_to_compile"
"""Compiles, however warm the environment is."""


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_comes_to_what_its_table_says_cold_and_warm(run: RunSuite, name: str) -> None:
    expected = expected_of(name)
    cold = run(name, "--gpu-arch=sm_80", *ORDERED)
    assert cold.outcomes == expected, cold.output
    warm = run(name, "--gpu-arch=sm_80", *ORDERED)
    assert warm.outcomes == expected, warm.output
    assert warm.count("compiled") == any(FRESH in test for test in expected), warm.output
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
