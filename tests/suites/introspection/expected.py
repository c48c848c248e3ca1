"""What a compile-only pass makes of this suite on one sm_80 device."""

from __future__ import annotations

_TABLE: dict[str, dict[str, tuple[str, int]]] = {
    "test_device.py": {
        "test_properties_fit_each_other_and_the_architecture": ("passed", 0),
        "test_the_name_says_that_it_is_none": ("passed", 0),
        "test_there_is_one_device": ("passed", 0),
        "test_another_device_is_refused": ("passed", 0),
        "test_versions_are_numbers": ("passed", 0),
        "test_the_configuration_can_be_shown": ("passed", 0),
    },
    "test_kernel_attributes.py": {
        "test_an_attribute_compiles_the_kernel": ("passed", 1),
        "test_memory_is_that_of_the_source": ("passed", 1),
        "test_versions_are_those_of_the_architecture": ("passed", 1),
        "test_a_value_that_was_set_is_read_back": ("passed", 1),
        "test_attributes_are_the_same_after_a_launch": ("passed", 1),
    },
    "test_memory.py": {
        "test_memory_is_counted_in_steps_of_512_bytes": ("passed", 0),
        "test_a_launch_keeps_no_array_alive": ("passed", 1),
        "test_counting_takes_no_memory": ("passed", 1),
        "test_blocks_are_free_after_free_all_blocks": ("passed", 0),
        "test_a_limit_of_the_pool_holds": ("passed", 0),
        "test_more_than_the_device_has_is_refused": ("passed", 0),
        "test_a_large_array_costs_nothing": ("passed", 0),
        "test_an_allocator_of_ones_own_is_called": ("passed", 0),
    },
}

EXPECTED: dict[str, dict[str, str | int]] = {
    f"{file}::{test}": {"outcome": outcome, "obtained": obtained}
    for file, tests in _TABLE.items()
    for test, (outcome, obtained) in tests.items()
}
"""Test to outcome and number of kernels."""
