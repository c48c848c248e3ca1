"""Twenty-two of CuPy's own functions, of one type each."""

from __future__ import annotations

from typing import Any

import cupy
import pytest

ONE_ARGUMENT = (
    *("sin", "cos", "tan", "arctan", "sinh", "tanh", "exp", "exp2"),
    *("log1p", "sqrt", "cbrt", "square", "rint", "floor", "sign", "isfinite"),
)
TWO_ARGUMENTS = ["add", "multiply", "maximum", "hypot", "arctan2", "less"]


@pytest.mark.parametrize("name", ONE_ARGUMENT)
def test_a_function_of_one_argument_keeps_the_shape(name: str, values: Any) -> None:
    assert getattr(cupy, name)(values).shape == values.shape


@pytest.mark.parametrize("name", TWO_ARGUMENTS)
def test_a_function_of_two_arguments_keeps_the_shape(
    name: str, values: Any, other_values: Any
) -> None:
    assert getattr(cupy, name)(values, other_values).shape == values.shape
