"""What a compile-only pass makes of this suite on one sm_80 device."""

from __future__ import annotations

_TABLE: dict[str, dict[str, tuple[str, int]]] = {
    "test_available.py": {
        "test_a_kernel_keeps_the_shape": ("passed", 1),
        "test_a_value_is_right": ("discarded", 1),
    },
    "test_device_count.py": {
        "test_a_kernel_keeps_the_shape": ("passed", 1),
    },
    "test_import.py": {
        "test_a_kernel_keeps_the_shape": ("passed", 1),
    },
    "test_nvidia_smi.py": {
        "test_a_kernel_keeps_the_shape": ("skipped", 0),
    },
    "test_right_value.py": {
        "test_a_kernel_keeps_the_shape": ("skipped", 0),
        "test_a_value_is_right": ("skipped", 0),
    },
    "test_tiny_kernel.py": {
        "test_a_kernel_keeps_the_shape": ("passed", 1),
    },
}

EXPECTED: dict[str, dict[str, str | int]] = {
    f"{file}::{test}": {"outcome": outcome, "obtained": obtained}
    for file, tests in _TABLE.items()
    for test, (outcome, obtained) in tests.items()
}
"""Test to outcome and number of kernels."""

EXPECTED_WITHOUT_MODE: dict[str, str] = {
    test: "failed" if test.startswith("test_import.py") else "skipped" for test in EXPECTED
}
"""Test to outcome where no mode is given and there is no device: what it is without the plugin."""
