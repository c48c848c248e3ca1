"""Handles: the numbers by which CUDA's users name what the null device keeps for them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Thing = TypeVar("Thing")

_numbers = itertools.count(0x6E75_6C6C_0010, 16)
"""No two handles of a process are alike, whatever they stand for; all are far from 0, 1 and 2,
which are streams, and look like the aligned addresses that they are on a real device."""


class Handles(Generic[Thing]):
    """A table of handles of one kind; `unknown` raises what CUDA raises for one that is not in
    it."""

    def __init__(self, unknown: Callable[[], object]) -> None:
        self._things: dict[int, Thing] = {}
        self._unknown = unknown

    def add(self, thing: Thing) -> int:
        handle = next(_numbers)
        self._things[handle] = thing
        return handle

    def get(self, handle: int) -> Thing:
        thing = self._things.get(handle)
        if thing is None:
            self._unknown()
        assert thing is not None
        return thing

    def remove(self, handle: int) -> Thing:
        thing = self._things.pop(handle, None)
        if thing is None:
            self._unknown()
        assert thing is not None
        return thing

    def find(self, handle: int) -> Thing | None:
        return self._things.get(handle)

    def values(self) -> Iterator[Thing]:
        return iter(list(self._things.values()))
