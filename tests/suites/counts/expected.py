"""What a compile-only pass makes of this suite on one sm_80 device."""

from __future__ import annotations

_TABLE: dict[str, dict[str, tuple[str, int]]] = {
    "test_during.py": {
        "test_a_block_counts_its_own_kernels": ("passed", 3),
        "test_a_block_that_repeats_what_was_done_costs_nothing": ("passed", 1),
        "test_blocks_in_blocks_each_count": ("passed", 2),
        "test_a_block_has_not_what_comes_after_it": ("passed", 2),
        "test_a_block_that_raises_has_counted": ("passed", 1),
        "test_a_block_names_its_kernels": ("passed", 2),
        "test_a_block_with_a_wrong_expectation_fails": ("failed", 1),
    },
    "test_expect.py": {
        "test_one_kernel_launched_many_times_is_one": ("passed", 1),
        "test_two_kernel_objects_of_the_same_source_are_one": ("passed", 1),
        "test_a_kernel_that_is_made_and_never_launched_costs_nothing": ("passed", 0),
        "test_memory_that_is_zeroed_filled_and_read_by_copies_costs_nothing": ("passed", 0),
        "test_ones_and_a_copy_are_kernels": ("passed", 2),
        "test_array_expressions_cost_a_kernel_for_each_operation_and_types": ("passed", 3),
        "test_an_empty_array_launches_nothing": ("passed", 0),
        "test_sums_that_widen_two_types_are_two_kernels": ("passed", 2),
        "test_a_sum_that_cub_was_built_for_costs_nothing": ("passed", 0),
        "test_a_count_is_read_without_expect": ("passed", 1),
        "test_kernels_are_listed_by_name": ("passed", 2),
        "test_what_is_obtained_now_is_compiled_or_loaded": ("passed", 1),
        "test_a_fresh_environment_has_to_compile": ("passed", 1),
        "test_a_wrong_expectation_is_a_failure": ("failed", 1),
        "test_a_wrong_expectation_is_a_failure_after_a_read_too": ("failed", 1),
        "test_an_unknown_count_is_a_type_error": ("passed", 0),
        "test_no_tune_was_measured": ("passed", 0),
    },
    "test_reading.py": {
        "test_a_wrong_value_after_a_read_is_no_failure": ("discarded", 1),
        "test_a_value_that_is_right_by_chance_passes": ("passed", 1),
        "test_an_exception_of_a_read_value_is_no_failure": ("discarded", 1),
        "test_a_wrong_value_on_the_host_is_a_failure": ("failed", 1),
        "test_a_wrong_shape_is_a_failure_though_the_message_shows_the_array": ("failed", 1),
        "test_a_failure_without_a_read_is_one_though_the_traceback_shows_the_array": ("failed", 1),
        "test_a_right_shape_passes": ("passed", 1),
        "test_a_loop_that_waits_to_converge_is_ended": ("discarded", 1),
        "test_a_loop_that_swallows_exceptions_is_ended": ("discarded", 1),
        "test_a_loop_of_so_many_steps_passes": ("passed", 1),
        "test_counts_are_true_though_values_are_not": ("discarded", 2),
        "test_a_fixture_that_read_makes_a_failure_one_of_reading": ("discarded", 2),
        "test_a_setup_that_read_and_failed_is_no_error": ("discarded", 2),
    },
    "test_scopes.py": {
        "test_the_first_user_of_a_session_fixture_does_not_pay_for_it": ("passed", 0),
        "test_a_kernel_that_a_session_fixture_used_too_is_the_tests_own": ("passed", 1),
        "test_the_order_of_the_fixtures_does_not_matter": ("passed", 1),
        "test_a_function_fixture_is_the_tests_own": ("passed", 2),
        "test_a_function_fixture_after_gpu_stats_is_the_tests_own": ("passed", 2),
        "TestOfAClass::test_the_first_method_pays_for_what_it_launches": ("passed", 1),
        "TestOfAClass::test_the_second_method_launches_the_kernel_of_the_fixture": ("passed", 1),
    },
    "test_sharing.py": {
        "test_a_kernel_of_the_module_counts_for_each_test_that_counts[0]": ("passed", 1),
        "test_a_kernel_of_the_module_counts_for_each_test_that_counts[1]": ("passed", 1),
        "test_a_kernel_of_the_module_counts_for_each_test_that_counts[2]": ("passed", 1),
        "test_an_expression_counts_for_each_test_that_counts[float32]": ("passed", 3),
        "test_an_expression_counts_for_each_test_that_counts[float64]": ("passed", 3),
        "test_it_counts_after_the_same_work_was_done_elsewhere": ("passed", 7),
        "test_the_first_that_does_not_count_obtains_the_kernel": ("passed", 1),
        "test_the_second_that_does_not_count_finds_it_there": ("passed", 0),
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
        "test_sharing.py::test_the_first_that_does_not_count_obtains_the_kernel",
        "test_sharing.py::test_the_second_that_does_not_count_finds_it_there",
    }
)
"""Tests that do not count and share a kernel: whichever is first obtains it."""
