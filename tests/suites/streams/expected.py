"""What a compile-only pass makes of this suite on one sm_80 device."""

from __future__ import annotations

_TABLE: dict[str, dict[str, tuple[str, int]]] = {
    "test_per_thread.py": {
        "test_the_default_stream_is_the_one_that_was_asked_for": ("passed", 0),
        "test_a_kernel_on_the_default_stream_is_one": ("passed", 1),
        "test_the_variable_is_seen_here": ("skipped", 0),
    },
    "test_streams.py": {
        "test_a_stream_that_is_used_stays_current": ("passed", 1),
        "test_counting_leaves_the_current_stream": ("passed", 1),
        "test_a_kernel_on_eight_streams_is_one": ("passed", 1),
        "test_threads_with_streams_of_their_own_count_to_the_test": ("passed", 8),
        "test_elapsed_time_is_no_nonsense": ("passed", 1),
        "test_a_stream_waits_for_an_event": ("passed", 0),
        "test_a_callback_of_a_stream_is_called": ("passed", 0),
        "test_a_stream_that_leaks_out_of_a_test_leaks[1]": ("passed", 0),
        "test_a_stream_that_leaks_out_of_a_test_leaks[2]": ("passed", 0),
    },
    "test_textures.py": {
        "test_a_round_trip_returns_the_data[shape0]": ("passed", 0),
        "test_a_round_trip_returns_the_data[shape1]": ("passed", 0),
        "test_a_round_trip_returns_the_data[shape2]": ("passed", 0),
        "test_an_array_of_another_shape_is_refused": ("passed", 0),
        "test_a_surface_is_made_of_an_array": ("passed", 0),
    },
}

EXPECTED: dict[str, dict[str, str | int]] = {
    f"{file}::{test}": {"outcome": outcome, "obtained": obtained}
    for file, tests in _TABLE.items()
    for test, (outcome, obtained) in tests.items()
}
"""Test to outcome and number of kernels."""

EXPECTED_PER_THREAD = {
    **EXPECTED,
    "test_per_thread.py::test_the_variable_is_seen_here": {"outcome": "passed", "obtained": 0},
}
"""The same with `CUPY_CUDA_PER_THREAD_DEFAULT_STREAM=1`."""

IN_THIS_ORDER_ONLY = frozenset(
    f"test_streams.py::test_a_stream_that_leaks_out_of_a_test_leaks[{number}]" for number in (1, 2)
)
"""The first leaks what the second finds."""
