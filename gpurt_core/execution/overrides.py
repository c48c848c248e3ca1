"""Overrides: who sets the process's mode and a stream's mode, and for how long.

Opening and closing takes a lock and publishes anew what all open overrides amount to; reading that
takes none. A close of an override that is not open does nothing, so that it is safe in a `finally`.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from gpurt_core.errors import OverrideConflict
from gpurt_core.execution.forking import lock_held_over_forks
from gpurt_core.execution.modes import (
    LaunchMode,
    ModesInForce,
    ProcessMode,
    ServiceStream,
    StreamMode,
)
from gpurt_core.execution.statistics import StatisticsCollector

_lock = lock_held_over_forks()


class ProcessModeOverride:
    """Puts the whole process in `mode`, and counts to `collector`, while it is open.

    Overrides of the same mode and the same collector nest: the last one out closes. Opening one of
    another mode or another collector raises `OverrideConflict`, and leaves the open one as it was.
    """

    def __init__(self, mode: ProcessMode, collector: StatisticsCollector) -> None:
        self.mode = mode
        self.collector = collector
        self._times_open = 0

    def open(self) -> Self:
        """Opens it; raises `OverrideConflict`."""
        with _lock:
            self._open_once()
            _open.publish()
        return self

    def _open_once(self) -> None:
        if _open.process:
            self._check_joins(_open.process[-1])
        _open.process.append(self)
        self._times_open += 1

    def _check_joins(self, other: ProcessModeOverride) -> None:
        if self.mode is not other.mode:
            what = f"mode {other.mode.name}"
        elif self.collector is not other.collector:
            what = f"collector {other.collector.name or 'without a name'}"
        else:
            return
        raise OverrideConflict(
            f"cannot open {self.mode.name}: an override of {what} is open; close that one first"
        )

    def close(self) -> None:
        """Closes it, once for each time that it was opened."""
        with _lock:
            self._close_once()
            _open.publish()

    def _close_once(self) -> None:
        if self._times_open:
            self._times_open -= 1
            _open.process.remove(self)

    def hand_over(self, other: ProcessModeOverride) -> None:
        """Closes this one and opens `other` in one step: no launch sees a moment without either.

        Raises `OverrideConflict`, and leaves this one open, where a third forbids `other`.
        """
        with _lock:
            self._close_once()
            try:
                other._open_once()
            except OverrideConflict:
                self._open_once()
                raise
            finally:
                _open.publish()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class StreamModeOverride:
    """Puts one stream of one device in `mode` while it is open.

    Overrides of one stream nest: the newest live one decides, and they may close in any order.
    """

    def __init__(self, mode: StreamMode, stream: ServiceStream) -> None:
        self.mode = mode
        self.stream = stream
        self._times_open = 0

    def open(self) -> Self:
        """Opens it."""
        with _lock:
            _open.streams.setdefault(self.stream, []).append(self)
            self._times_open += 1
            _open.publish()
        return self

    def close(self) -> None:
        """Closes it, once for each time that it was opened."""
        with _lock:
            if self._times_open:
                self._times_open -= 1
                _open.forget_newest(self)
                _open.publish()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _OpenOverrides:
    """Every open override, the newest last. Read and changed under the lock."""

    def __init__(self) -> None:
        self.process: list[ProcessModeOverride] = []
        self.streams: dict[ServiceStream, list[StreamModeOverride]] = {}

    def forget_newest(self, override: StreamModeOverride) -> None:
        live = self.streams[override.stream]
        # One object that was opened twice is in the list twice: its newest opening is undone.
        del live[max(i for i, other in enumerate(live) if other is override)]
        if not live:
            del self.streams[override.stream]

    def publish(self) -> None:
        process = self.process[-1] if self.process else None
        mode = process.mode if process else ProcessMode.EXECUTE
        ModesInForce(
            process_mode=mode,
            collector=process.collector if process else None,
            launch_mode=LaunchMode.of(mode.stream_mode, mode),
            exceptions={
                stream: LaunchMode.of(live[-1].mode, mode)
                for stream, live in self.streams.items()
                if live[-1].mode is not mode.stream_mode
            },
        ).publish()


_open = _OpenOverrides()


def republish() -> None:
    """Puts in force anew what is in force, as another object: who kept the old one looks again."""
    with _lock:
        _open.publish()
