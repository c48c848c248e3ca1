"""What a compile-only pass makes of this suite on one sm_80 device."""

from __future__ import annotations

_TABLE: dict[str, dict[str, tuple[str, int]]] = {
    "test_array_kinds.py": {
        "test_a_ufunc": ("passed", 1),
        "test_a_ufunc_that_casts_and_writes_elsewhere": ("passed", 1),
        "test_a_ufunc_that_scatters": ("passed", 2),
        "test_an_outer_product_and_an_accumulation": ("passed", 3),
        "test_filling_arrays": ("passed", 4),
        "test_a_reduction_along_the_first_axis": ("passed", 1),
        "test_a_reduction_to_an_index": ("passed", 1),
        "test_a_variance": ("passed", 3),
        "test_scans": ("passed", 3),
        "test_sorting_and_its_helpers": ("passed", 2),
        "test_indexing_in_every_way": ("passed", 9),
        "test_a_mask_needs_its_length_at_once": ("passed", 2),
        "test_complex_half_and_boolean_types": ("passed", 3),
        "test_a_fused_function": ("passed", 1),
        "test_a_fused_reduction": ("passed", 1),
        "test_a_vectorized_function": ("passed", 1),
        "test_special_functions": ("passed", 2),
        "test_each_way_to_sum_has_kernels_of_its_own[none]": ("passed", 1),
        "test_each_way_to_sum_has_kernels_of_its_own[block]": ("passed", 1),
        "test_each_way_to_sum_has_kernels_of_its_own[library]": ("passed", 0),
    },
    "test_binary_kinds.py": {
        "test_a_module_of_a_file_costs_no_kernel[cubin]": ("passed", 0),
        "test_a_module_of_a_file_costs_no_kernel[ptx]": ("passed", 0),
        "test_a_function_that_the_file_lacks_is_an_error[cubin]": ("passed", 0),
        "test_a_function_that_the_file_lacks_is_an_error[ptx]": ("passed", 0),
        "test_a_file_that_is_not_there_is_an_error": ("passed", 0),
        "test_half_a_file_is_an_error[cubin]": ("passed", 0),
        "test_half_a_file_is_an_error[ptx]": ("skipped", 0),
    },
    "test_device_kinds.py": {
        "test_a_raw_kernel_that_samples_a_texture": ("passed", 1),
        "test_an_elementwise_kernel_that_samples_a_texture": ("passed", 1),
        "test_launches_that_a_graph_records": ("passed", 2),
        "test_launches_on_two_streams": ("passed", 1),
        "test_the_occupancy_of_a_kernel": ("passed", 1),
    },
    "test_written_kinds.py": {
        "test_an_elementwise_kernel": ("passed", 1),
        "test_an_elementwise_kernel_has_one_for_each_type": ("passed", 3),
        "test_an_elementwise_kernel_with_raw_arguments": ("passed", 1),
        "test_a_reduction_kernel": ("passed", 1),
        "test_a_reduction_kernel_over_so_many_axes": ("passed", 1),
        "test_a_raw_kernel_with_options[c++11]": ("passed", 1),
        "test_a_raw_kernel_with_options[c++17]": ("passed", 1),
        "test_a_raw_kernel_with_arguments_of_every_kind": ("passed", 1),
        "test_two_functions_of_a_module_are_one_kernel": ("passed", 1),
        "test_name_expressions_of_a_module_are_one_kernel": ("passed", 1),
        "test_a_name_expression_that_was_not_asked_for_is_an_error": ("passed", 1),
        "test_variables_of_a_module": ("passed", 1),
        "test_attributes_of_a_kernel_are_real": ("passed", 1),
        "test_a_cooperative_launch": ("passed", 1),
        "test_a_jit_kernel_is_launched_in_both_ways": ("passed", 1),
        "test_a_jit_kernel_with_shared_memory": ("passed", 1),
    },
}

EXPECTED: dict[str, dict[str, str | int]] = {
    f"{file}::{test}": {"outcome": outcome, "obtained": obtained}
    for file, tests in _TABLE.items()
    for test, (outcome, obtained) in tests.items()
}
"""Test to outcome and number of kernels."""
