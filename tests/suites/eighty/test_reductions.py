"""Sixteen reductions to one number for each row."""

from __future__ import annotations

from typing import Any

import cupy
import pytest

STEPS = {
    "sum_of_squares": ("x * x", "a + b", "y = a", "0"),
    "euclidean_norm": ("x * x", "a + b", "y = sqrtf(a)", "0"),
    "manhattan_norm": ("fabsf(x)", "a + b", "y = a", "0"),
    "largest_size": ("fabsf(x)", "fmaxf(a, b)", "y = a", "0"),
    "smallest_size": ("fabsf(x)", "fminf(a, b)", "y = a", "1e30f"),
    "geometric_mean": (
        "logf(x + 1e-6f)",
        "a + b",
        "y = expf(a / (_in_ind.size() / _out_ind.size()))",
        "0",
    ),
    "harmonic_sum": ("1 / (x + 1e-6f)", "a + b", "y = 1 / a", "0"),
    "product": ("x", "a * b", "y = a", "1"),
    "entropy": ("x > 0 ? -x * logf(x) : 0.0f", "a + b", "y = a", "0"),
    "log_sum_exp": ("expf(x)", "a + b", "y = logf(a)", "0"),
    "positives": ("x > 0 ? 1.0f : 0.0f", "a + b", "y = a", "0"),
    "zeros": ("x == 0 ? 1.0f : 0.0f", "a + b", "y = a", "0"),
    "sum_of_cubes": ("x * x * x", "a + b", "y = a", "0"),
    "fourth_root_norm": ("x * x * x * x", "a + b", "y = sqrtf(sqrtf(a))", "0"),
    "cosine_sum": ("cosf(x)", "a + b", "y = a", "0"),
    "root_sum": ("sqrtf(fabsf(x))", "a + b", "y = a * a", "0"),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_reduction_gives_a_number_for_each_row(name: str, values: Any) -> None:
    mapping, reducing, finishing, identity = STEPS[name]
    kernel = cupy.ReductionKernel(
        "float32 x", "float32 y", mapping, reducing, finishing, identity, name
    )
    assert kernel(values.reshape(32, 32), axis=1).shape == (32,)
