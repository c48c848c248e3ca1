"""The recorder in force, and how it travels from the thread that issues to the one that runs.

Carried recorders live in a context variable: a task and `asyncio.to_thread` see the one that was
applied where they were made, and no other task does.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType

from gpurt_core.execution.modes import ModesInForce
from gpurt_core.execution.statistics import StatisticsCollector


@dataclass(frozen=True, slots=True)
class IssuedRecorder:
    """Whom a launch counts to: captured where it is issued, applied where it runs."""

    collector: StatisticsCollector | None
    """The collector that is counted to; `None`: it counts nowhere, whatever is open by then."""

    @staticmethod
    def capture() -> IssuedRecorder:
        """The recorder in force on this thread: the one applied here, else the open override's."""
        carried = _carried.get()
        if carried is not None:
            return carried
        collector = ModesInForce.current().collector
        return _NOWHERE if collector is None else IssuedRecorder(collector)

    def applied(self) -> AppliedRecorder:
        """A context manager in which this recorder is the one in force on this thread."""
        return AppliedRecorder(self)


class AppliedRecorder:
    """A recorder in force on one thread, or one task, for the length of a block."""

    __slots__ = ("_before", "_recorder")

    def __init__(self, recorder: IssuedRecorder) -> None:
        self._recorder = recorder
        self._before: IssuedRecorder | None = None

    def __enter__(self) -> None:
        self._before = _carried.get()
        _carried.set(self._recorder)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Not a reset by token: an asynchronous fixture may be left in another context than it was
        # entered in, where a token raises.
        _carried.set(self._before)


def collector_in_force() -> StatisticsCollector | None:
    """Whom work that this thread registers now counts to; `None`: nowhere."""
    carried = _carried.get()
    if carried is not None:
        return carried.collector
    return ModesInForce.current().collector


#: `None`: nothing is applied, and the open override's collector is in force.
_carried: ContextVar[IssuedRecorder | None] = ContextVar("gpurt_issued_recorder", default=None)
_NOWHERE = IssuedRecorder(None)
