"""What a compile-only pass makes of this suite on one sm_80 device."""

from __future__ import annotations

_TABLE: dict[str, dict[str, tuple[str, int]]] = {
    "examples.txt": {
        "examples.txt": ("passed", 1),
    },
    "small_library.py": {
        "small_library.first": ("discarded", 1),
        "small_library.launch": ("passed", 1),
    },
    "test_async.py": {
        "test_a_coroutine_counts": ("passed", 1),
        "test_tasks_and_threads_count": ("passed", 4),
        "test_a_coroutine_that_reads_is_discarded": ("discarded", 1),
    },
    "test_fixture_scopes.py": {
        "TestScopes::test_the_first_pays_for_its_own_function_fixture": ("passed", 2),
        "TestScopes::test_the_second_pays_the_same": ("passed", 2),
        "test_parameters_multiply[small-a]": ("passed", 2),
        "test_parameters_multiply[small-b]": ("passed", 2),
        "test_parameters_multiply[large-a]": ("passed", 2),
        "test_parameters_multiply[large-b]": ("passed", 2),
        "test_a_fixture_that_is_only_used_costs_nothing_here": ("passed", 0),
        "test_a_finalizer_is_the_tests_own": ("passed", 1),
        "test_a_fixture_that_is_asked_for_late_is_the_tests_own": ("passed", 2),
    },
    "test_outcomes.py": {
        "test_an_expected_exception_passes": ("passed", 1),
        "test_an_expected_failure_stays_one": ("xfailed", 1),
        "test_an_expected_failure_that_reads_stays_one": ("xfailed", 1),
        "test_an_unexpected_success_is_a_failure": ("failed", 1),
        "test_a_skip_in_the_middle_stays_one": ("skipped", 1),
        "test_a_skip_after_a_read_stays_one": ("skipped", 1),
        "test_an_explicit_failure_is_one": ("failed", 1),
        "test_subtests_that_pass": ("passed", 3),
        "test_subtests_of_which_some_read": ("discarded", 2),
        "test_a_second_attempt_passes": ("passed", 1),
    },
    "test_threads.py": {
        "test_a_pool_of_threads_counts": ("passed", 4),
        "test_a_thread_that_raises_does_not_stop_the_others": ("passed", 1),
        "test_a_thread_outlives_its_test": ("passed", 1),
        "test_the_next_test_does_not_pay_for_it": ("passed", 0),
    },
    "test_unittest.py": {
        "CountingCase::test_a_method_pays_for_its_set_up": ("passed", 3),
        "CountingCase::test_a_skip": ("skipped", 0),
        "CountingCase::test_an_expected_failure": ("xfailed", 3),
        "CountingCase::test_subtests_share_what_they_launch": ("passed", 3),
        "PlainCase::test_a_shape": ("passed", 1),
        "PlainCase::test_a_value": ("discarded", 1),
        "PlainCase::test_a_value_in_subtests": ("discarded", 1),
        "TestXunit::test_a_method_pays_for_setup_method": ("passed", 1),
    },
}

EXPECTED: dict[str, dict[str, str | int]] = {
    f"{file}::{test}": {"outcome": outcome, "obtained": obtained}
    for file, tests in _TABLE.items()
    for test, (outcome, obtained) in tests.items()
}
"""Test to outcome and number of kernels."""

IN_THIS_ORDER_ONLY = frozenset(
    {
        "test_threads.py::test_a_thread_outlives_its_test",
        "test_threads.py::test_the_next_test_does_not_pay_for_it",
    }
)
"""Two tests of one thread."""
