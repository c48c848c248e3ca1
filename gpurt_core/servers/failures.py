"""Launches that failed and that nobody has been told of yet."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gpurt_core.errors import LaunchFailed
from gpurt_core.servers.kernels import Launch


class Failures:
    """Keeps each failure until it is raised, once. Safe on any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[tuple[Launch, LaunchFailed]] = []

    def add(self, launch: Launch, failure: LaunchFailed) -> None:
        """Keeps one."""
        with self._lock:
            self._kept.append((launch, failure))

    def take(self, concerns: Callable[[Launch], bool] | None = None) -> list[LaunchFailed]:
        """Those of launches that `concerns` is true of, or all, in order; they are kept no more."""
        taken: list[LaunchFailed] = []
        left: list[tuple[Launch, LaunchFailed]] = []
        with self._lock:
            for launch, failure in self._kept:
                if concerns is None or concerns(launch):
                    taken.append(failure)
                else:
                    left.append((launch, failure))
            self._kept = left
        return taken

    def raise_any(self, concerns: Callable[[Launch], bool] | None = None) -> None:
        """Raises the first of these, with the others beside it."""
        taken = self.take(concerns)
        if not taken:
            return
        first, *others = taken
        first.others = tuple(others)
        for other in others:
            first.add_note(f"and then: {other}")
        try:
            raise first
        finally:
            del taken, first, others  # the error's traceback holds this frame
