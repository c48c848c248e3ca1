"""Which errors take one candidate out, and which end the whole measurement."""

from __future__ import annotations

from gpurt_core.errors import CompilationError, LaunchFailed, LoadRefused, Rejected

Rejects = tuple[type[BaseException], ...]
"""Further errors that only say that a candidate does not suit: a framework's own."""


def is_rejection(error: BaseException, rejects: Rejects = ()) -> bool:
    """Whether the device, and everything on it, is as it was before the candidate.

    A launch that was refused never began; one that failed while it ran may have taken the device
    with it, and says nothing about the candidate.
    """
    if isinstance(error, LaunchFailed):
        return all(launch.refused for launch in (error, *error.others))
    return isinstance(error, (Rejected, CompilationError, LoadRefused, *rejects))


def cause_of(error: BaseException) -> str:
    """An error in one line."""
    lines = str(error).strip().splitlines()
    name = type(error).__name__
    return f"{name}: {lines[0]}" if lines else name
