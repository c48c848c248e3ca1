"""What an environment keeps, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """How far a queue is."""

    left: int = 0
    """Kernels in it of which there is no artifact."""
    made: int = 0
    """Artifacts that there are, whatever they are of."""
    at_work: tuple[str, ...] = ()
    """Labels of the kernels that somebody has claimed."""


@dataclass(frozen=True, slots=True)
class QueuedEntry:
    """A kernel that was gathered, and not compiled yet."""

    id: str
    payload: str
    """What it can be made of again: text."""
    label: str


@dataclass(frozen=True, slots=True)
class CompilationRecord:
    """One compilation."""

    id: str
    label: str
    seconds: float
    outcome: str
    """`"compiled"` or `"failed"`."""
    arch: str
    compiler: str
    log: str | None
    at: float
    """When it ended (seconds since 1970)."""


@dataclass(frozen=True, slots=True)
class StoredPick:
    """The candidate that was picked for a tune key, and by which samples."""

    device: str
    """The device's fingerprint."""
    tuner: str
    key: str
    """JSON."""
    checksum: str
    """Of the candidates: others are measured again."""
    candidate: str
    """The name of the one that was picked."""
    samples: Mapping[str, Sequence[float]]
    """Each candidate's times (seconds)."""
    at: float


@dataclass(frozen=True, slots=True)
class EnvironmentHealth:
    """What there is, and what went wrong in this run."""

    artifacts: int
    bytes: int
    """Of all artifacts."""
    dropped: int
    """Artifacts and picks whose checksum was wrong when they were read."""
    stored: int
    """Artifacts that this run has stored."""
    refused: int
    """Artifacts that could not be stored."""
    picks: int
    queued: int
