"""Tests that use NumPy, and see to it that nobody has imported CuPy for them."""

from __future__ import annotations

import sys

import numpy as np
import pytest


def test_a_sum_is_right() -> None:
    assert np.arange(5).sum() == 10


def test_nothing_of_cupy_was_imported() -> None:
    assert not [name for name in sys.modules if name.partition(".")[0] in ("cupy", "cupyx")]


@pytest.mark.skip(reason="skipped for a reason of its own")
def test_a_skip_stays_a_skip() -> None:
    raise AssertionError


@pytest.mark.xfail(raises=ZeroDivisionError, strict=True)
def test_an_expected_failure_stays_one() -> None:
    _ = 1 // 0
