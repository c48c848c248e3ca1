"""What a compile-only pass makes of this suite on two devices, and on one."""

from __future__ import annotations

_TABLE: dict[str, dict[str, tuple[str, int]]] = {
    "test_any_number.py": {
        "test_a_device_that_there_is_not_is_refused": ("passed", 0),
        "test_the_current_device_is_the_first": ("passed", 0),
        "test_a_kernel_of_the_first_device_is_one": ("passed", 1),
    },
    "test_two_devices.py": {
        "test_an_array_is_on_the_device_of_the_block": ("passed", 0),
        "test_the_device_is_restored_after_an_error": ("passed", 0),
        "test_a_raw_kernel_is_obtained_for_each_device": ("passed", 2),
        "test_devices_of_one_architecture_share_a_compilation": ("passed", 2),
        "test_an_expression_is_obtained_for_each_device": ("passed", 2),
        "test_attributes_are_those_of_the_current_device": ("passed", 2),
        "test_a_copy_between_devices_keeps_the_data": ("passed", 0),
        "test_devices_may_reach_each_other": ("passed", 0),
        "test_a_stream_belongs_to_its_device": ("passed", 1),
    },
}

EXPECTED_OF_TWO: dict[str, dict[str, str | int]] = {
    f"{file}::{test}": {"outcome": outcome, "obtained": obtained}
    for file, tests in _TABLE.items()
    for test, (outcome, obtained) in tests.items()
}
"""Test to outcome and number of kernels on two devices, of the same architecture or of two."""

EXPECTED: dict[str, dict[str, str | int]] = {
    test: {"outcome": "skipped", "obtained": 0} if test.startswith("test_two") else expected
    for test, expected in EXPECTED_OF_TWO.items()
}
"""The same on one sm_80 device."""
