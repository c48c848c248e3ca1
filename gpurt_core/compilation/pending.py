"""A kernel on its way: from being queued until its batch is finished with it."""

from __future__ import annotations

import threading
from typing import Generic

from gpurt_core.compilation.events import KernelEvent
from gpurt_core.compilation.target import Id, Kernel, Loaded
from gpurt_core.errors import CompilationError, GpurtError
from gpurt_core.execution import (
    KernelHandling,
    KernelOutcome,
    KernelRegistration,
    Settled,
    StatisticsCollector,
)


class Pending(Generic[Id, Kernel, Loaded]):
    """One kernel that is queued or in a batch. Read and changed under its loader's lock.

    What its batch made of it (`loaded`, `error`) is read without the lock once `finished` is set,
    and never changes afterwards.
    """

    def __init__(self, id: Id, kernel: Kernel, generation: int) -> None:
        self.id = id
        self.kernel = kernel
        self.generation = generation
        self.outcome: KernelOutcome | None = None
        self.loaded: Loaded | None = None
        self.obtained = False
        self.error: GpurtError | None = None
        self.awaited = False  # by a load, which reports an error itself
        self.batch_thread: int | None = None  # the ident of the thread whose batch it is in
        self.finished = threading.Event()
        self._settled: list[Settled[KernelHandling]] = []
        self._registrations: list[KernelRegistration] = []
        self._register()

    def _register(self) -> None:
        registration = KernelRegistration.register()
        if registration is not None:
            self._registrations.append(registration)

    def serves(self, generation: int) -> bool:
        """Whether one reached under `generation` is this one, rather than one obtained again."""
        return self.generation == generation or self.outcome is None

    def join(self, generation: int) -> None:
        """Registers it again where accounting has started anew since it was registered."""
        if self.generation != generation:
            self.generation = generation
            self._register()

    def settle(
        self, outcome: KernelOutcome, seconds: float, error: CompilationError | None = None
    ) -> KernelEvent:
        """Settles every registration; the first one alone counts a kernel as compiled."""
        self.outcome = outcome
        for place, registration in enumerate(self._registrations):
            served = place > 0 and outcome is KernelOutcome.COMPILED
            self._settled.append(registration.settle(KernelOutcome.LOADED if served else outcome))
        return KernelEvent(self.id, outcome, seconds, error, self._tried_by())

    def abandon(self) -> KernelEvent | None:
        """Settles what is left unsettled; an event where the kernel itself was."""
        for registration in self._registrations:
            registration.abandon()
        if self.outcome is not None:
            return None
        self.outcome = KernelOutcome.ABANDONED
        return KernelEvent(self.id, self.outcome, 0.0, None, self._tried_by())

    def _tried_by(self) -> tuple[StatisticsCollector, ...]:
        return tuple(registration.collector for registration in self._registrations)

    def record_refused(self) -> None:
        """Counts, for everyone who tried it, that the device refused it."""
        for settled in self._settled:
            settled.record(KernelHandling.REFUSED)

    def record_stored(self) -> None:
        """Counts that the environment kept it: once, as it grew by one."""
        for settled in self._settled[:1]:
            settled.record(KernelHandling.STORED)

    def __repr__(self) -> str:
        return f"Pending({self.id!r}, {self.outcome})"


def raised_anew(error: GpurtError) -> GpurtError:
    """A copy of `error` to raise here.

    The one that is kept (for an observer's report, for other threads that wait for the kernel)
    must not gather the frames of whoever raises it: they hold the test's arrays alive.
    """
    kind = type(error)
    fresh = kind.__new__(kind, *error.args)
    fresh.__dict__.update(error.__dict__)
    fresh.__cause__ = error.__cause__
    fresh.__context__ = error.__context__
    fresh.__suppress_context__ = error.__suppress_context__
    return fresh.with_traceback(error.__traceback__)


def without_frames(error: GpurtError) -> GpurtError:
    """`error`, and what caused it, without the frames of the thread that it was raised on."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        link.__traceback__ = None
        link = link.__cause__ or link.__context__
    return error
