"""Tune keys as text: what names a piece of work, between runs and machines."""

from __future__ import annotations

import json
import marshal
from typing import Any

from gpurt_core.errors import BadTuneKey

_IN_MEMORY_FORMAT = 2
"""The newest format of `marshal` in which equal values always give equal bytes: later ones hold how
often a value is referred to."""


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
_PLAIN = frozenset({str, int, float, bool, type(None)})


def encode_key(key: object) -> str:
    """A key as JSON: the same text for equal keys, whatever the order of a dict.

    Tuples and lists are the same to it. Raises `BadTuneKey`.
    """
    try:
        text = _encode(key)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadTuneKey(key, str(error)) from None
    if "{" in text:
        _check_names(key)
    return text


def _check_names(value: object) -> None:
    """JSON has names of text only: `{1: x}` and `{"1": x}` would be one key."""
    if isinstance(value, dict):
        for name in value:
            if not isinstance(name, str):
                raise BadTuneKey(value, f"a dict has the key {name!r}, which is not a text")
        _check_names(list(value.values()))
    elif isinstance(value, (tuple, list)):
        for item in value:
            _check_names(item)


def shorthand(key: Any) -> bytes | None:
    """Bytes that stand for a key in memory, ten times faster than its text is made.

    Unlike hashing, they tell `1`, `1.0` and `True` apart. `None` for a key that has none.
    """
    try:
        return marshal.dumps(key, _IN_MEMORY_FORMAT)
    except ValueError:
        return None


def lasting_shorthand(key: object) -> bytes | None:
    """The shorthand of a key, if no key of another text can have it.

    A NumPy scalar is written as its bare bytes, which tell no types apart: it lasts for no call.
    """
    return shorthand(key) if _is_plain(key) else None


def _is_plain(value: object) -> bool:
    kind = type(value)
    if kind is tuple or kind is list:
        return all(type(item) in _PLAIN or _is_plain(item) for item in value)  # type: ignore[attr-defined]
    if kind is dict:
        return all(_is_plain(item) for item in value.values())  # type: ignore[attr-defined]
    return kind in _PLAIN
