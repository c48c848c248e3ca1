"""Candidates, and the sets of them that do one piece of work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from gpurt_core.errors import BadTunableSet
from gpurt_core.tune.checksum import checksum_of


class Tunable:
    """A candidate: one way of doing a piece of work.

    `function` is called with the arguments of `Tuner.execute`, and launches on the stream that was
    given there. It raises `Rejected` where it does not suit them. `sources` are texts (of kernels,
    of options) that it depends on and that `gpurt_core.tune.checksum` would not find by itself.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], *, sources: Sequence[str] = ()
    ) -> None:
        if not callable(function):
            raise BadTunableSet(f"candidate {name!r} is not callable: {function!r}")
        if isinstance(sources, str) or not all(isinstance(text, str) for text in sources):
            raise BadTunableSet(
                f"candidate {name!r}: sources={sources!r} is not a list of texts; give one"
            )
        self.name = name
        self.function = function
        self.sources = tuple(sources)

    def __repr__(self) -> str:
        return f"Tunable({self.name!r})"


class TunableSet:
    """The candidates for one kind of work.

    `key`, called with the arguments of `Tuner.execute`, gives what names the work to the tuner: of
    numbers, texts, booleans, `None`, tuples, lists and dicts. `groups` are further candidates,
    tried group by group, in order, only while none of those before worked. `inputs`, called with
    the arguments, gives others (a tuple) to measure with, once for a measurement: without it the
    candidates are run many times on the arguments themselves, and must not add up in them. `bound`,
    called with the arguments, gives the least seconds that the work can take, or `None`: measuring
    ends when a candidate is close to it.

    Raises `BadTunableSet` where there is no candidate, or two of one name.
    """

    def __init__(
        self,
        key: Callable[..., Any],
        candidates: Sequence[Tunable],
        groups: Sequence[Sequence[Tunable]] = (),
        *,
        inputs: Callable[..., tuple[Any, ...]] | None = None,
        bound: Callable[..., float | None] | None = None,
    ) -> None:
        self.key = key
        self.groups = tuple(tuple(group) for group in (candidates, *groups))
        self.inputs = inputs
        self.bound = bound
        self.candidates = tuple(tunable for group in self.groups for tunable in group)
        _check(self.groups, self.candidates)
        self.by_name = {tunable.name: tunable for tunable in self.candidates}
        self.single = self.candidates[0].function if len(self.candidates) == 1 else None
        """The only candidate, where there is one: it is called and nothing is tuned."""

    @cached_property
    def checksum(self) -> str:
        """Of the candidates' names and sources, in order; made when first asked for."""
        return checksum_of(
            [
                [(tunable.name, tunable.function, tunable.sources) for tunable in group]
                for group in self.groups
            ]
        )

    def __repr__(self) -> str:
        return f"TunableSet({', '.join(repr(tunable.name) for tunable in self.candidates)})"


def _check(groups: Sequence[Sequence[Tunable]], candidates: Sequence[Tunable]) -> None:
    for group in groups:
        if not group:
            raise BadTunableSet("a tunable set without candidates: give each group at least one")
    seen: set[str] = set()
    for tunable in candidates:
        if tunable.name in seen:
            raise BadTunableSet(f"two candidates are named {tunable.name!r}: name them apart")
        seen.add(tunable.name)
