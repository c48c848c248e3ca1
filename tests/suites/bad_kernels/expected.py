"""What a compile-only pass makes of this suite on one sm_80 device."""

from __future__ import annotations

_TABLE: dict[str, dict[str, tuple[str, int, int]]] = {
    "test_expected_errors.py": {
        "test_compile_raises_at_once": ("passed", 0, 1),
        "test_a_launch_raises_at_once": ("passed", 0, 1),
        "test_an_elementwise_kernel_raises_at_once": ("passed", 0, 1),
        "test_a_reduction_raises_at_once": ("passed", 0, 1),
        "test_a_module_raises_when_a_function_is_taken": ("passed", 0, 1),
        "test_a_template_that_does_not_fit_its_type_raises": ("passed", 0, 1),
        "test_a_missing_header_raises": ("passed", 0, 1),
        "test_a_broken_header_raises": ("passed", 0, 1),
        "test_an_option_that_there_is_not_raises": ("passed", 0, 1),
        "test_a_wrong_error_text_is_a_failure": ("failed", 0, 1),
        "test_an_error_of_a_marked_test_comes_at_once": ("passed", 0, 1),
    },
    "test_fallbacks.py": {
        "test_a_fallback_is_taken_and_gathered": ("passed", 1, 1),
        "test_a_fallback_that_nobody_looks_at_is_gathered": ("passed", 1, 1),
        "test_a_probe_says_no": ("passed", 0, 1),
        "test_a_probe_that_nobody_looks_at_passes": ("passed", 0, 1),
    },
    "test_marked.py": {
        "test_a_strictly_expected_failure_fails": ("xfailed", 0, 1),
        "test_a_strictly_expected_failure_that_passes_is_a_failure": ("failed", 1, 0),
        "test_a_fusion_without_a_name_fails": ("xfailed", 0, 1),
        "test_a_jit_kernel_without_source_is_refused": ("passed", 0, 0),
        "test_a_jit_kernel_of_an_unknown_name_is_refused": ("passed", 0, 0),
    },
    "test_refused_launches.py": {
        "test_a_launch_that_fits_passes": ("passed", 1, 0),
        "test_too_many_threads_are_refused": ("passed", 1, 0),
        "test_too_much_shared_memory_is_refused": ("passed", 1, 0),
        "test_an_argument_that_is_no_array_is_refused": ("passed", 1, 0),
        "test_a_name_that_the_source_lacks_is_refused": ("passed", 1, 0),
        "test_a_refusal_that_nobody_expects_is_a_failure": ("failed", 1, 0),
    },
    "test_unhandled.py": {
        "test_a_launch_of_a_bad_kernel_fails": ("failed", 0, 1),
        "test_another_test_of_the_same_bad_kernel_fails_too": ("failed", 0, 1),
        "test_a_bad_kernel_fails_though_its_result_is_read": ("failed", 0, 1),
        "test_a_function_that_the_module_lacks_fails": ("failed", 1, 0),
        "test_a_fixture_with_a_bad_kernel_fails": ("error", 0, 0),
        "test_a_good_kernel_in_between_is_not_touched": ("passed", 1, 0),
    },
}

EXPECTED: dict[str, dict[str, str | int]] = {
    f"{file}::{test}": {"outcome": outcome, "obtained": obtained, "failed": failed}
    for file, tests in _TABLE.items()
    for test, (outcome, obtained, failed) in tests.items()
}
"""Test to outcome and number of kernels, and of those that fail."""
