"""Keys as text, and their shorthand in memory."""

from __future__ import annotations

import enum
import itertools
from typing import Any

import numpy
import pytest

from gpurt_core.tune import BadTuneKey
from gpurt_core.tune.keys import encode_key, lasting_shorthand, shorthand


class Colour(enum.IntEnum):
    RED = 1


LOOPED: list[Any] = []
LOOPED.append(LOOPED)

APART = [1, 1.0, True, "1", None, 0, False, -0.0, "", (), (1,), ("1",), {"a": 1}, {"a": 1.0}, [[1]]]


def test_keys_that_hash_alike_are_told_apart() -> None:
    for one, other in itertools.combinations(APART, 2):
        assert encode_key(one) != encode_key(other)
        assert shorthand(one) != shorthand(other)


def test_the_order_of_a_dict_does_not_matter() -> None:
    assert encode_key({"a": 1, "b": {"c": 2, "d": 3}}) == encode_key(
        {"b": {"d": 3, "c": 2}, "a": 1}
    )


def test_a_tuple_and_a_list_are_the_same_key() -> None:
    assert encode_key(("add", (1, 2))) == encode_key(["add", [1, 2]]) == '["add",[1,2]]'


@pytest.mark.parametrize(
    ("key", "what"),
    [
        ({1, 2}, "set"),
        (b"bytes", "bytes"),
        (object, "type"),
        (1 + 2j, "complex"),
        (float("nan"), "nan"),
        ((1, float("inf")), "inf"),
        (numpy.int64(3), "int64"),
        (numpy.zeros(2), "ndarray"),
        (numpy.dtype("f4"), "dtype"),
        ({1: "x"}, "the key 1, which is not a text"),
        (("a", [{None: 1}]), "the key None, which is not a text"),
        (LOOPED, "Circular"),
    ],
)
def test_a_key_that_is_not_json_is_a_clear_error_in_one_line(key: Any, what: str) -> None:
    with pytest.raises(BadTuneKey, match="does not encode to JSON") as caught:
        encode_key(key)
    assert what.lower() in str(caught.value).lower()
    assert "\n" not in str(caught.value)
    assert caught.value.key is not None


def test_equal_keys_have_one_shorthand_however_they_were_made() -> None:
    text = "".join(["sca", "le"])
    assert shorthand((text, text, 1 << 70)) == shorthand(("scale", str(b"scale", "ascii"), 1 << 70))


@pytest.mark.parametrize("key", [numpy.float64(1.0), ("a", numpy.str_("b")), Colour.RED, (b"x",)])
def test_only_plain_keys_are_remembered_by_their_shorthand(key: Any) -> None:
    assert lasting_shorthand(key) is None


@pytest.mark.parametrize("key", APART)
def test_plain_keys_are_remembered_by_their_shorthand(key: Any) -> None:
    assert lasting_shorthand(key) == shorthand(key) is not None
