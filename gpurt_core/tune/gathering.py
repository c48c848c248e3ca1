"""Gathering a key: every candidate runs, discarded, so that its kernels queue. Nothing is decided.

Keys inside the candidates are not gathered: their candidates run too, once for a gathering.
"""

from __future__ import annotations

from typing import Any

from gpurt_core.execution import TuneRegistration
from gpurt_core.tune import frames
from gpurt_core.tune.book import PickBook
from gpurt_core.tune.measurement import TuneIdentity
from gpurt_core.tune.rejections import Rejects, is_rejection
from gpurt_core.tune.tunable import Tunable, TunableSet


def gather(
    book: PickBook,
    identity: TuneIdentity,
    tunables: TunableSet,
    args: tuple[Any, ...],
    rejects: Rejects,
) -> Any:
    """Gathers a key where it is new; returns what the first candidate that works returned."""
    around = frames.current()
    if around is not None and around.gathered is not None:
        return _gather_within(around.gathered, around, identity, tunables, args, rejects)
    page = book.page
    if not book.begin_gathering(page, identity):
        return first_that_works(tunables, args, rejects)
    registration = TuneRegistration.register()
    try:
        result = _gather_within(set(), around, identity, tunables, args, rejects)
    except BaseException:
        page.gathered.discard(identity)
        if registration is not None:
            registration.abandon()
        raise
    book.keep_gathered(identity, registration)
    return result


def _gather_within(
    gathered: set[TuneIdentity],
    around: frames.Frame | None,
    identity: TuneIdentity,
    tunables: TunableSet,
    args: tuple[Any, ...],
    rejects: Rejects,
) -> Any:
    is_new = identity not in gathered
    gathered.add(identity)
    with frames.inside(frames.Frame(identity, around, gathered=gathered)):
        if is_new:
            inputs = args if tunables.inputs is None else tunables.inputs(*args)
            for tunable in tunables.candidates:
                _run(tunable, inputs, rejects)
        return first_that_works(tunables, args, rejects)


def _run(tunable: Tunable, args: tuple[Any, ...], rejects: Rejects) -> None:
    try:
        tunable.function(*args)
    except Exception as error:
        if not is_rejection(error, rejects):
            raise


def first_that_works(tunables: TunableSet, args: tuple[Any, ...], rejects: Rejects) -> Any:
    """What the first candidate returns that is not rejected; raises the first one's rejection."""
    first: Exception | None = None
    for tunable in tunables.candidates:
        try:
            return tunable.function(*args)
        except Exception as error:
            if not is_rejection(error, rejects):
                raise
            first = first or error
    assert first is not None
    try:
        raise first
    finally:
        del first  # whose traceback holds this frame
