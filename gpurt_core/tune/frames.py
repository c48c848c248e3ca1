"""What is being tried around the code that runs: seen by whatever a candidate calls.

Kept in a context variable, which goes along to the thread that candidates are measured on, and to
tasks and threads that carry their context.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from gpurt_core.errors import TuneRecursion
from gpurt_core.tune.measurement import TuneIdentity
from gpurt_core.tune.watching import WatchedThread


@dataclass(frozen=True, slots=True)
class Frame:
    """A key whose candidates run."""

    identity: TuneIdentity
    outer: Frame | None
    watched: WatchedThread | None = None
    """The thread that its candidates are measured on; `None`: they are not measured."""
    gathered: set[TuneIdentity] | None = None
    """Keys that were reached in this gathering; `None`: nothing is gathered."""


_current: ContextVar[Frame | None] = ContextVar("gpurt_tune_frame", default=None)


def current() -> Frame | None:
    """The innermost."""
    return _current.get()


def around() -> Iterator[Frame]:
    """All of them, the innermost first."""
    frame = _current.get()
    while frame is not None:
        yield frame
        frame = frame.outer


@contextlib.contextmanager
def inside(frame: Frame) -> Iterator[Frame]:
    """Within the block this frame is the innermost."""
    _current.set(frame)
    try:
        yield frame
    finally:
        _current.set(frame.outer)


def check_not_inside(identity: TuneIdentity) -> None:
    """Raises `TuneRecursion` inside a candidate for this very key."""
    if any(frame.identity == identity for frame in around()):
        raise TuneRecursion(identity.tuner, identity.key)


def is_measured() -> bool:
    """Whether the code that runs is a candidate that is measured."""
    return any(frame.watched is not None for frame in around())


@contextlib.contextmanager
def blameless() -> Iterator[None]:
    """Within the block, the candidate around it, if any, is not to blame for the time it takes."""
    frame = _current.get()
    if frame is None or frame.watched is None:
        yield
        return
    with frame.watched.paused():
        yield
