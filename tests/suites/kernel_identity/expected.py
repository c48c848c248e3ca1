"""What a compile-only pass makes of this suite on one sm_80 device."""

from __future__ import annotations

_TABLE: dict[str, dict[str, tuple[str, int]]] = {
    "test_files.py": {
        "test_each_file_has_its_own_functions": ("passed", 0),
        "test_a_file_and_a_source_do_not_meet": ("passed", 1),
    },
    "test_headers.py": {
        "test_a_header_that_includes_another": ("passed", 1),
        "test_the_order_of_folders_decides_and_is_kept": ("passed", 2),
        "test_an_edit_between_two_tests_is_seen[first-1]": ("passed", 1),
        "test_an_edit_between_two_tests_is_seen[edited-2]": ("passed", 1),
        "test_an_edit_between_two_tests_is_seen[restored-1]": ("passed", 1),
        "test_two_folders_with_the_same_header_are_one_kernel": ("passed", 1),
    },
    "test_name_expressions.py": {
        "test_a_list_of_expressions_is_one_kernel": ("passed", 1),
        "test_the_list_in_another_order_has_all_its_functions": ("passed", 1),
        "test_another_spelling_has_its_own_functions": ("passed", 1),
        "test_each_spelling_is_found_when_it_is_loaded[names0]": ("passed", 1),
        "test_each_spelling_is_found_when_it_is_loaded[names1]": ("passed", 1),
        "test_each_spelling_is_found_when_it_is_loaded[names2]": ("passed", 1),
        "test_a_spelling_that_was_not_listed_is_an_error[k<int>]": ("passed", 1),
        "test_a_spelling_that_was_not_listed_is_an_error[k<unsigned long>]": ("passed", 1),
        "test_a_spelling_that_was_not_listed_is_an_error[k< size_t >]": ("passed", 1),
        "test_a_spelling_that_was_not_listed_is_an_error[k]": ("passed", 1),
        "test_a_subset_of_the_list_is_a_kernel_of_its_own": ("passed", 2),
    },
    "test_options.py": {
        "test_options_and_their_order_make_kernels[same]": ("passed", 1),
        "test_options_and_their_order_make_kernels[value]": ("passed", 2),
        "test_options_and_their_order_make_kernels[repeated]": ("passed", 2),
        "test_options_and_their_order_make_kernels[math]": ("passed", 2),
        "test_options_and_their_order_make_kernels[fmad]": ("passed", 2),
        "test_options_and_their_order_make_kernels[lines]": ("passed", 2),
        "test_options_and_their_order_make_kernels[language]": ("passed", 2),
        "test_options_and_their_order_make_kernels[order]": ("passed", 2),
        "test_options_of_an_elementwise_kernel": ("passed", 2),
    },
    "test_text.py": {
        "test_a_comment_in_any_script[japanese]": ("passed", 1),
        "test_a_comment_in_any_script[french]": ("passed", 1),
        "test_a_comment_in_any_script[emoji]": ("passed", 1),
        "test_a_comment_in_any_script[escape]": ("passed", 1),
        "test_comments_in_two_scripts_are_two_kernels": ("passed", 2),
        "test_a_name_of_three_thousand_characters": ("passed", 1),
        "test_an_elementwise_kernel_that_is_not_ascii": ("passed", 1),
    },
}

EXPECTED: dict[str, dict[str, str | int]] = {
    f"{file}::{test}": {"outcome": outcome, "obtained": obtained}
    for file, tests in _TABLE.items()
    for test, (outcome, obtained) in tests.items()
}
"""Test to outcome and number of kernels."""
