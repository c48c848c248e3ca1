"""What a compile-only pass makes of this suite on one sm_80 device."""

from __future__ import annotations

_TABLE: dict[str, dict[str, tuple[str, int]]] = {
    "test_arrays.py": {
        "test_a_sum_is_right": ("passed", 0),
        "test_nothing_of_cupy_was_imported": ("passed", 0),
        "test_a_skip_stays_a_skip": ("skipped", 0),
        "test_an_expected_failure_stays_one": ("xfailed", 0),
    },
    "test_text.py": {
        "test_words_are_joined": ("passed", 0),
        "test_numbers_are_printed[0]": ("passed", 0),
        "test_numbers_are_printed[1]": ("passed", 0),
        "test_numbers_are_printed[2]": ("passed", 0),
        "test_a_failure_stays_a_failure": ("failed", 0),
    },
}

EXPECTED: dict[str, dict[str, str | int]] = {
    f"{file}::{test}": {"outcome": outcome, "obtained": obtained}
    for file, tests in _TABLE.items()
    for test, (outcome, obtained) in tests.items()
}
"""Test to outcome and number of kernels."""
