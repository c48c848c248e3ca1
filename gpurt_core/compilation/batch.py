"""One batch: looks kernels up, has the rest compiled on workers, loads and stores each.

The thread that asked for the batch coordinates it, and it alone talks to the target and decides
which kernels share an artifact; workers only lower and finalize. A worker is therefore never
blocked by a kernel whose source another one is finalizing.

However a batch ends, `close` leaves nothing of it unsettled: what was not finished is abandoned,
and what workers still hand in afterwards is dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic

from gpurt_core.compilation.ledger import KernelLedger
from gpurt_core.compilation.pending import Pending
from gpurt_core.compilation.target import (
    Artifact,
    ArtifactCompiler,
    CompilationTarget,
    Found,
    Id,
    Interruptible,
    Kernel,
    Loaded,
)
from gpurt_core.compilation.workers import JobGroup
from gpurt_core.errors import CompilationError, LoadRefused
from gpurt_core.execution import KernelOutcome


@dataclass(slots=True)
class _Job(Generic[Id, Kernel, Loaded]):
    """A kernel of the batch that its environment does not have."""

    pending: Pending[Id, Kernel, Loaded]
    seconds: float = 0.0
    source: str | None = None


@dataclass(slots=True)
class _Shared(Generic[Id, Kernel, Artifact, Loaded]):
    """A source that one kernel, at least, lowered to."""

    artifact: Artifact | None = None
    error: CompilationError | None = None
    done: bool = False
    waiting: list[_Job[Id, Kernel, Loaded]] = field(default_factory=list)


@dataclass(slots=True)
class _Result(Generic[Id, Kernel, Loaded]):
    """What a worker hands in: what goes on with `value`, or with an error."""

    job: _Job[Id, Kernel, Loaded]
    proceed: Callable[[_Job[Id, Kernel, Loaded], Any], None]
    value: Any = None
    error: BaseException | None = None


def _perform(work: Callable[[], Any], result: _Result[Any, Any, Any], to: SimpleQueue[Any]) -> None:
    began = time.perf_counter()
    try:
        result.value = work()
    except BaseException as error:
        result.error = error
    result.job.seconds += time.perf_counter() - began
    to.put(result)
    # The traceback of an error keeps this frame, which must not keep the error.
    del work, result


def _lower(compiler: ArtifactCompiler[Id, Kernel, Any], id: Id, kernel: Kernel) -> Any:
    lowered = compiler.lower(id, kernel)
    return lowered, None if isinstance(lowered, Found) else compiler.source(lowered)


class Batch(Generic[Id, Kernel, Artifact, Loaded]):
    """Obtains kernels together; made and run by one thread."""

    def __init__(
        self,
        target: CompilationTarget[Id, Kernel, Artifact, Loaded],
        workers: JobGroup,
        ledger: KernelLedger[Id, Kernel, Loaded],
    ) -> None:
        self._target = target
        self._workers = workers
        self._ledger = ledger
        self.kernels: dict[Id, Pending[Id, Kernel, Loaded]] = {}
        self._unfinished = 0
        self._results: SimpleQueue[_Result[Id, Kernel, Loaded]] = SimpleQueue()
        self._shared: dict[str, _Shared[Id, Kernel, Artifact, Loaded]] = {}

    def run(self) -> None:
        """Runs it; raises what a compiler or the target raised that is no failure of a kernel."""
        self._unfinished = len(self.kernels)
        for pending in self.kernels.values():
            self._look_up(pending)
        while self._unfinished:
            self._handle(self._results.get())

    def close(self) -> None:
        """Abandons what is not finished."""
        self._workers.close()
        left = [pending for pending in self.kernels.values() if not pending.finished.is_set()]
        if left and isinstance(self._target, Interruptible):
            self._target.interrupt([pending.id for pending in left])
        for pending in left:
            self._ledger.finish(pending)

    def _look_up(self, pending: Pending[Id, Kernel, Loaded]) -> None:
        job: _Job[Id, Kernel, Loaded] = _Job(pending)
        artifact = self._target.stored(pending.id) if self._target.persists else None
        if artifact is not None:
            self._obtained(job, Found(artifact))
            return
        work = partial(_lower, self._target.compiler, pending.id, pending.kernel)
        self._submit(job, self._lowered, work)

    def _submit(
        self,
        job: _Job[Id, Kernel, Loaded],
        proceed: Callable[[_Job[Id, Kernel, Loaded], Any], None],
        work: Callable[[], Any],
        *,
        first: bool = False,
    ) -> None:
        result = _Result(job, proceed)
        self._workers.submit(partial(_perform, work, result, self._results), first=first)

    def _handle(self, result: _Result[Id, Kernel, Loaded]) -> None:
        if result.error is None:
            result.proceed(result.job, result.value)
        elif isinstance(result.error, CompilationError):
            self._failed(result.job, result.error)
        else:
            error = result.error
            try:
                raise error
            finally:
                del error, result  # see `_perform`

    def _lowered(self, job: _Job[Id, Kernel, Loaded], value: tuple[Any, str | None]) -> None:
        lowered, job.source = value
        if isinstance(lowered, Found):
            self._obtained(job, lowered)
        elif job.source is None:
            self._finalize(job, lowered)
        elif (shared := self._shared.get(job.source)) is None:
            self._lead(job, job.source, lowered)
        elif shared.done:
            self._follow(job, shared)
        else:
            shared.waiting.append(job)

    def _lead(self, job: _Job[Id, Kernel, Loaded], source: str, lowered: Any) -> None:
        shared = self._shared[source] = _Shared()
        artifact = self._target.stored_for_source(source) if self._target.persists else None
        if artifact is None:
            self._finalize(job, lowered)
        else:
            shared.artifact, shared.done = artifact, True
            self._follow(job, shared)

    def _finalize(self, job: _Job[Id, Kernel, Loaded], lowered: Any) -> None:
        work = partial(self._target.compiler.finalize, job.pending.id, lowered)
        # Before what waits to be lowered: what has begun is finished, and kept, first.
        self._submit(job, self._obtained, work, first=True)

    def _obtained(self, job: _Job[Id, Kernel, Loaded], value: Artifact | Found[Artifact]) -> None:
        if isinstance(value, Found):
            artifact = value.artifact
            self._ledger.settle(job.pending, KernelOutcome.LOADED, job.seconds)
            self._load(job, artifact, store=False)
        else:
            artifact = value
            self._ledger.settle(job.pending, KernelOutcome.COMPILED, job.seconds)
            self._load(job, artifact, store=True)
        self._serve(job, artifact=artifact)

    def _failed(self, job: _Job[Id, Kernel, Loaded], error: CompilationError) -> None:
        self._fail(job, error)
        self._serve(job, error=error)

    def _serve(
        self,
        job: _Job[Id, Kernel, Loaded],
        *,
        artifact: Artifact | None = None,
        error: CompilationError | None = None,
    ) -> None:
        """Hands on to those that wait for the source of `job` what became of it."""
        shared = None if job.source is None else self._shared.get(job.source)
        if shared is None or shared.done:
            return
        shared.artifact, shared.error, shared.done = artifact, error, True
        while shared.waiting:
            self._follow(shared.waiting.pop(0), shared)

    def _follow(
        self,
        job: _Job[Id, Kernel, Loaded],
        shared: _Shared[Id, Kernel, Artifact, Loaded],
    ) -> None:
        if shared.error is not None:
            self._fail(job, shared.error)
            return
        assert shared.artifact is not None
        self._ledger.settle(job.pending, KernelOutcome.LOADED, job.seconds)
        self._load(job, shared.artifact, store=True)

    def _fail(self, job: _Job[Id, Kernel, Loaded], error: CompilationError) -> None:
        self._ledger.settle(job.pending, KernelOutcome.FAILED, job.seconds, error)
        self._finish(job)

    def _load(self, job: _Job[Id, Kernel, Loaded], artifact: Artifact, *, store: bool) -> None:
        pending = job.pending
        try:
            loaded = self._target.load(pending.id, artifact)
        except LoadRefused as error:
            self._ledger.record_refused(pending, error)
        else:
            self._ledger.record_loaded(pending, loaded)
            if (
                store
                and self._target.persists
                and self._target.store(pending.id, artifact, job.source)
            ):
                self._ledger.record_stored(pending)
        self._finish(job)

    def _finish(self, job: _Job[Id, Kernel, Loaded]) -> None:
        self._ledger.finish(job.pending)
        self._unfinished -= 1
