"""Tests that have nothing to do with a GPU."""

from __future__ import annotations

import pytest


def test_words_are_joined() -> None:
    assert " ".join(["one", "two"]) == "one two"


@pytest.mark.parametrize("number", range(3))
def test_numbers_are_printed(number: int) -> None:
    assert int(str(number)) == number


def test_a_failure_stays_a_failure() -> None:
    assert "one".upper() == "one"
