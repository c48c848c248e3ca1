"""The kernels that a server has loaded, in front of the one path that loads more.

Safe on any thread: a kernel compiles once however many threads ask for it, and a load of one that
another thread's batch is compiling waits for that. There are two locks, of the ledger and of the
workers; neither is held while a compiler, a target or an observer is called, or anything is waited
for. In the child of a fork the queue is empty, and what was loaded stays.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from typing import Any, Generic, cast
from weakref import WeakSet

from gpurt_core.compilation.batch import Batch
from gpurt_core.compilation.cpus import usable_cpus
from gpurt_core.compilation.events import KernelEvent
from gpurt_core.compilation.ledger import ABSENT, KernelLedger
from gpurt_core.compilation.pending import Pending, raised_anew
from gpurt_core.compilation.target import Artifact, CompilationTarget, Id, Kernel, Loaded
from gpurt_core.compilation.workers import CompileWorkers


class KernelLoader(Generic[Id, Kernel, Artifact, Loaded]):
    """Loads kernels on `target`, compiling on up to `parallelism` threads at once.

    `on_settled` is told of each kernel as it settles, on the thread that asked for its batch.
    """

    def __init__(
        self,
        target: CompilationTarget[Id, Kernel, Artifact, Loaded],
        *,
        parallelism: int | None = None,
        on_settled: Callable[[KernelEvent], object] | None = None,
    ) -> None:
        self.target = target
        self._workers = CompileWorkers(usable_cpus() if parallelism is None else parallelism)
        self._ledger: KernelLedger[Id, Kernel, Loaded] = KernelLedger(on_settled)
        _loaders.add(self)

    @property
    def parallelism(self) -> int:
        """How many kernels compile at once, at most."""
        return self._workers.parallelism

    @property
    def generation(self) -> int:
        """How often accounting has started anew."""
        return self._ledger.generation

    @property
    def queued_count(self) -> int:
        """How many kernels are queued."""
        return len(self._ledger.queue)

    def queued_ids(self) -> tuple[Id, ...]:
        """The ids of the queued kernels, in order."""
        return self._ledger.queued_ids()

    def get(self, id: Id) -> Loaded | None:
        """What is loaded under `id`, or `None`; never compiles."""
        loaded = self._ledger.lookup(id)
        return None if loaded is ABSENT else cast(Loaded, loaded)

    def enqueue(self, id: Id, kernel: Kernel) -> None:
        """Queues a kernel, to be compiled with the others when one is next loaded.

        Left alone when it is loaded or queued; tried again when it failed before.
        """
        if self._ledger.lookup(id) is ABSENT:
            self._ledger.enqueue(id, kernel)

    def load(self, id: Id, kernel: Kernel) -> Loaded:
        """The loaded kernel; compiles everything queued, and it, in one batch first.

        Raises `CompilationError` or `LoadRefused` for this kernel, and what broke the batch.
        """
        while (loaded := self._ledger.lookup(id)) is ABSENT:
            pending = self._attempt(id, kernel)
            if pending is None:
                continue
            pending.finished.wait()
            if pending.obtained:
                return cast(Loaded, pending.loaded)
            if pending.error is not None:
                raise raised_anew(pending.error)
            # Another thread's batch broke over a kernel of its own: this one is asked for again.
        if self._ledger.queue:
            self._compile_queue()
        return cast(Loaded, loaded)

    def compile_queued(self) -> None:
        """Compiles the queue now; raises what broke the batch.

        Also waits for the batches of other threads, so that nothing that was queued before is
        unsettled afterwards.
        """
        self._compile_queue()
        for pending in self._ledger.in_other_batches():
            pending.finished.wait()

    def begin_generation(self) -> None:
        """Starts accounting anew: what is loaded is obtained again when it is next reached.

        What is queued stays, and registers again when it is queued again.
        """
        self._ledger.begin_generation()

    def prioritise(self, seconds: Mapping[Id, float], otherwise: float = 0.0) -> None:
        """Has the next batch begin with what is expected to take longest, so that no long kernel is
        left for the end. `otherwise` (seconds) is what a kernel takes that is not in `seconds`."""
        self._ledger.prioritise(seconds, otherwise)

    def forget(self, ids: Collection[Id]) -> None:
        """Starts accounting anew for these kernels alone."""
        self._ledger.forget(ids)

    def abandon_queued(self) -> None:
        """Drops the queue: its kernels settle as abandoned."""
        self._ledger.abandon_queued()

    def _attempt(self, id: Id, kernel: Kernel) -> Pending[Id, Kernel, Loaded] | None:
        with closing(self._new_batch()) as batch:
            pending = self._ledger.demand(id, kernel, batch.kernels)
            batch.run()
        return pending

    def _compile_queue(self) -> None:
        with closing(self._new_batch()) as batch:
            self._ledger.take_queue(batch.kernels)
            batch.run()

    def _new_batch(self) -> Batch[Id, Kernel, Artifact, Loaded]:
        return Batch(self.target, self._workers.open_group(), self._ledger)

    def _start_anew_in_child(self) -> None:
        self._workers = CompileWorkers(self._workers.parallelism)
        self._ledger.start_anew_in_child()


_loaders: WeakSet[KernelLoader[Any, Any, Any, Any]] = WeakSet()


def _after_fork_in_child() -> None:
    for loader in _loaders:
        loader._start_anew_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
