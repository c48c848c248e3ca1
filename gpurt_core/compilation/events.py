"""What an observer of a loader is told of each kernel."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from gpurt_core.errors import CompilationError
from gpurt_core.execution import KernelOutcome, StatisticsCollector

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KernelEvent:
    """One kernel has settled."""

    id: Hashable
    """The kernel's id."""
    outcome: KernelOutcome
    """How it settled. Where several collectors tried it, only the first counts it as compiled."""
    seconds: float
    """Time that it spent on compile workers."""
    error: CompilationError | None
    """Why it failed; `None` for every other outcome."""
    tried_by: tuple[StatisticsCollector, ...]
    """The collectors that it was registered with; none for one that counts nowhere."""


Observer = Callable[[KernelEvent], object]


def tell(observer: Observer | None, events: Iterable[KernelEvent]) -> None:
    """Tells `observer`. One that raises is logged: a broken observer never breaks the core."""
    if observer is None:
        return
    for event in events:
        try:
            observer(event)
        except Exception:
            _log.exception("the observer of settled kernels raised on %r", event.id)
