"""Which kernels are loaded, queued, in a batch, or failed: the state of a loader, under its lock.

What is loaded can be looked up without the lock. Observers are told outside it, so that they may
ask the loader anything.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from typing import Any, Final, Generic

from gpurt_core.compilation.events import Observer, tell
from gpurt_core.compilation.pending import Pending, raised_anew, without_frames
from gpurt_core.compilation.target import Id, Kernel, Loaded
from gpurt_core.errors import CompilationError, GpurtError, LoadRefused
from gpurt_core.execution import KernelOutcome

#: What `lookup` answers for a kernel that is not loaded: a loaded one may be `None`.
ABSENT: Final[Any] = object()

_NONE = -1
"""The generation of a kernel that was forgotten on its way: it registers again in any."""


class KernelLedger(Generic[Id, Kernel, Loaded]):
    """Every kernel of one loader, in the one state that it is in."""

    def __init__(self, observer: Observer | None) -> None:
        self._observer = observer
        # Reentrant: a finalizer that runs inside may launch, and so queue, a kernel.
        self._lock = threading.RLock()
        self.generation = 0
        self.queue: dict[Id, Pending[Id, Kernel, Loaded]] = {}
        self._loaded: dict[Id, Loaded] = {}
        self._in_flight: dict[Id, Pending[Id, Kernel, Loaded]] = {}
        self._failures: dict[Id, GpurtError] = {}  # that no load has reported

    # Reaching kernels

    def lookup(self, id: Id) -> Any:
        """What is loaded under `id`, or `ABSENT`; takes no lock."""
        return self._loaded.get(id, ABSENT)

    def queued_ids(self) -> tuple[Id, ...]:
        """The ids of the queued kernels, in order."""
        with self._lock:
            return tuple(self.queue)

    def enqueue(self, id: Id, kernel: Kernel) -> None:
        """Queues it, unless it is loaded, queued or in a batch."""
        with self._lock:
            if id not in self._loaded:
                self._reach(id, kernel)

    def demand(
        self, id: Id, kernel: Kernel, batch: dict[Id, Pending[Id, Kernel, Loaded]]
    ) -> Pending[Id, Kernel, Loaded] | None:
        """What a load waits for, `None` if it is loaded by now; moves the queue to `batch`.

        Raises the failure that its last attempt left unreported.
        """
        with self._lock:
            failure = self._failures.pop(id, None)
            if failure is not None:
                raise raised_anew(failure)
            pending = None if id in self._loaded else self._reach(id, kernel)
            if pending is not None:
                if pending.batch_thread == threading.get_ident():
                    raise RuntimeError(
                        f"kernel {id!r} is loaded by its own load, or by an observer"
                    )
                pending.awaited = True
            self.take_queue(batch)
        return pending

    def _reach(self, id: Id, kernel: Kernel) -> Pending[Id, Kernel, Loaded]:
        pending = self.queue.get(id) or self._in_flight.get(id)
        if pending is not None and pending.serves(self.generation):
            pending.join(self.generation)
            return pending
        self._failures.pop(id, None)
        pending = self.queue[id] = Pending(id, kernel, self.generation)
        return pending

    def take_queue(self, batch: dict[Id, Pending[Id, Kernel, Loaded]]) -> None:
        """Moves the queue to the empty `batch`, of this thread."""
        with self._lock:
            if not self.queue:
                return
            self._failures.clear()
            me = threading.get_ident()
            for id in list(self.queue):
                # In the batch before it leaves the queue: an interrupt finds it in one of them.
                pending = batch[id] = self.queue[id]
                pending.batch_thread = me
                self._in_flight[id] = pending
                del self.queue[id]

    def in_other_batches(self) -> list[Pending[Id, Kernel, Loaded]]:
        """What other threads have in their batches; nothing where this one is inside a batch.

        Two threads inside batches that wait for each other's would wait for ever.
        """
        with self._lock:
            in_flight = list(self._in_flight.values())
        me = threading.get_ident()
        return [] if any(pending.batch_thread == me for pending in in_flight) else in_flight

    # What a batch makes of them

    def settle(
        self,
        pending: Pending[Id, Kernel, Loaded],
        outcome: KernelOutcome,
        seconds: float,
        error: CompilationError | None = None,
    ) -> None:
        """It has its outcome."""
        with self._lock:
            pending.error = error
            event = pending.settle(outcome, seconds, error)
        tell(self._observer, [event])

    def record_refused(self, pending: Pending[Id, Kernel, Loaded], error: LoadRefused) -> None:
        """The device refused it."""
        with self._lock:
            pending.error = without_frames(error)
            pending.record_refused()

    def record_loaded(self, pending: Pending[Id, Kernel, Loaded], loaded: Loaded) -> None:
        """The device loaded it."""
        with self._lock:
            pending.loaded = loaded
            pending.obtained = True

    def record_stored(self, pending: Pending[Id, Kernel, Loaded]) -> None:
        """The environment kept it."""
        with self._lock:
            pending.record_stored()

    def finish(self, pending: Pending[Id, Kernel, Loaded]) -> None:
        """Its batch is finished with it; it is abandoned, unless it has its outcome."""
        with self._lock:
            event = pending.abandon()
            if self._in_flight.get(pending.id) is pending:
                del self._in_flight[pending.id]
            # What accounting began anew over meanwhile is obtained again when next reached.
            if pending.generation == self.generation:
                if pending.obtained:
                    self._loaded[pending.id] = pending.loaded  # type: ignore[assignment]
                elif pending.error is not None and not pending.awaited:
                    self._failures[pending.id] = pending.error
            pending.finished.set()
        if event is not None:
            tell(self._observer, [event])

    # The whole

    def begin_generation(self) -> None:
        """Forgets what is loaded and what failed; the queue stays."""
        with self._lock:
            self.generation += 1
            forgotten, self._loaded = self._loaded, {}
            self._failures.clear()
        # Unloaded here, outside the lock: what a framework does then is its own affair.
        del forgotten

    def prioritise(self, seconds: Mapping[Id, float], otherwise: float) -> None:
        """Puts the queue into the order of what each kernel is expected to take, longest first."""
        with self._lock:
            order = sorted(self.queue, key=lambda id: -seconds.get(id, otherwise))
            self.queue = {id: self.queue[id] for id in order}

    def forget(self, ids: Collection[Id]) -> None:
        """`begin_generation` for these kernels alone."""
        with self._lock:
            forgotten = [self._loaded.pop(id, None) for id in ids]
            for id in ids:
                self._failures.pop(id, None)
                pending = self.queue.get(id) or self._in_flight.get(id)
                if pending is not None:
                    pending.generation = _NONE
        del forgotten

    def abandon_queued(self) -> None:
        """Drops the queue."""
        with self._lock:
            dropped, self.queue = self.queue, {}
            events = [pending.abandon() for pending in dropped.values()]
        tell(self._observer, [event for event in events if event is not None])

    def start_anew_in_child(self) -> None:
        """After a fork: the threads that were to finish these kernels are the parent's."""
        self._lock = threading.RLock()
        left = [*self.queue.values(), *self._in_flight.values()]
        self.queue, self._in_flight = {}, {}
        for pending in left:
            pending.abandon()
