"""What a compile-only pass makes of this suite on one sm_80 device."""

from __future__ import annotations

_TABLE: dict[str, dict[str, tuple[str, int]]] = {
    "test_importing.py": {
        "test_the_first_test_pays_for_nothing_of_the_import": ("passed", 0),
        "test_the_device_is_known_when_the_library_is_imported": ("passed", 0),
        "test_attributes_are_known_when_conftest_is_read": ("passed", 0),
        "test_a_kernel_that_was_compiled_early_counts_where_it_is_used": ("passed", 1),
        "test_functions_that_were_taken_early_are_one_kernel": ("passed", 1),
        "test_a_function_of_conftest_counts_where_it_is_used": ("passed", 1),
        "test_an_array_that_was_made_early_costs_nothing": ("passed", 0),
    },
}

EXPECTED: dict[str, dict[str, str | int]] = {
    f"{file}::{test}": {"outcome": outcome, "obtained": obtained}
    for file, tests in _TABLE.items()
    for test, (outcome, obtained) in tests.items()
}
"""Test to outcome and number of kernels."""
