"""What a launch does: the process's mode, its stream's mode, and the verdict from both.

Overrides publish what is in force as one immutable value, which a launch reads without a lock: it
sees one moment or the next, never half of each, with and without the GIL. Nothing is decided here
about who may open an override (`overrides`) or to whom a launch counts (`issued`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpurt_core.execution.statistics import StatisticsCollector


class StreamMode(enum.Enum):
    """What one stream does with its launches."""

    EXECUTE = "execute"
    """They run."""
    DISCARD = "discard"
    """They are dropped: the process mode says what becomes of their kernels."""


class ProcessMode(enum.Enum):
    """What the whole process is for, on every thread and device."""

    EXECUTE = "execute"
    """Launches run."""
    COMPILE_ONLY = "compile-only"
    """Launches are dropped and their kernels queued."""
    COMPILE_AND_AUTOTUNE = "compile-and-autotune"
    """Launches are dropped, their kernels compiled and loaded; measurements run."""

    @property
    def stream_mode(self) -> StreamMode:
        """The mode of every stream that no override sets."""
        return StreamMode.EXECUTE if self is ProcessMode.EXECUTE else StreamMode.DISCARD

    @staticmethod
    def current() -> ProcessMode:
        """The mode in force: `EXECUTE` when no override is open."""
        return published.in_force.process_mode


@dataclass(frozen=True, slots=True)
class ServiceStream:
    """A stream of a device: what orders launches."""

    service: str
    """The device service that the stream belongs to, as `"cuda:0"`."""
    stream: int
    """The stream's id, which other services may use for streams of their own."""


class LaunchMode(enum.Enum):
    """What one launch does: resolved where it is issued, and handed on as a value."""

    EXECUTE = "execute"
    """Compile if needed, load, run."""
    COMPILE = "compile"
    """Compile if needed, load, validate, store; drop the launch."""
    QUEUE = "queue"
    """Queue the kernel; drop the launch."""

    discards: bool
    """Whether the launch is dropped, and leaves its buffers as they were."""

    def __init__(self, text: str) -> None:
        self.discards = text != "execute"

    @staticmethod
    def resolve(stream: ServiceStream) -> LaunchMode:
        """The verdict for a launch that this thread issues now on `stream`."""
        in_force = published.in_force
        if in_force.exceptions:
            return in_force.exceptions.get(stream, in_force.launch_mode)
        return in_force.launch_mode

    @staticmethod
    def of(stream_mode: StreamMode, process_mode: ProcessMode) -> LaunchMode:
        """The verdict that these two modes give."""
        if stream_mode is StreamMode.EXECUTE:
            return LaunchMode.EXECUTE
        if process_mode is ProcessMode.COMPILE_AND_AUTOTUNE:
            return LaunchMode.COMPILE
        return LaunchMode.QUEUE


@dataclass(frozen=True, slots=True)
class ModesInForce:
    """What all open overrides amount to."""

    process_mode: ProcessMode = ProcessMode.EXECUTE
    collector: StatisticsCollector | None = None
    """Whom launches count to; `None` where no process mode override is open."""
    launch_mode: LaunchMode = LaunchMode.EXECUTE
    """The verdict on every stream that is not among `exceptions`."""
    exceptions: Mapping[ServiceStream, LaunchMode] = field(default_factory=dict)
    """The verdict on the streams whose override says otherwise than the process; never changed."""

    @staticmethod
    def current() -> ModesInForce:
        """What is in force."""
        return published.in_force

    def publish(self) -> None:
        """Puts this in force. Only `overrides` does, under its lock."""
        published.in_force = self


class _Published:
    """The one place that launches read: a reference, replaced whole."""

    __slots__ = ("in_force",)

    def __init__(self) -> None:
        self.in_force = ModesInForce()


published = _Published()
"""For code that asks at every launch whether anything has changed: `published.in_force` is another
object whenever something may have."""
