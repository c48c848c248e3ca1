"""Obtaining kernels through CuPy's own cache, and counting them: nothing else changes.

For runs that only count. CuPy compiles, looks up and keeps as it always does, on the thread that
asks; whether its cache had the kernel is seen by standing in front of that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from gpurt_core.adapters.cupy.artifact import CudaArtifact
from gpurt_core.adapters.cupy.target import LoadedModule
from gpurt_core.compilation import KernelEvent
from gpurt_core.errors import CompilationError
from gpurt_core.execution import KernelHandling, KernelOutcome, KernelRegistration, Settled


class WatchedCache:
    """CuPy's kernel cache, watched: what the last look-up of this thread came to."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self._of_thread = threading.local()

    def begin(self) -> None:
        """Forgets what this thread has seen."""
        self._of_thread.found = self._of_thread.kept = None

    @property
    def hit(self) -> bool:
        """Whether this thread's look-up found something that nothing was compiled after."""
        return self._of_thread.found is not None and self._of_thread.kept is None

    @property
    def saved(self) -> bool:
        """Whether this thread put something in."""
        return self._of_thread.kept is not None

    @property
    def payload(self) -> bytes | None:
        """What was found or put in; `None` where CuPy was told to keep nothing."""
        kept: bytes | None = self._of_thread.kept
        found: bytes | None = self._of_thread.found
        return found if kept is None else kept

    def load(self, name: str) -> bytes | None:
        """As CuPy's cache."""
        payload: bytes | None = self.inner.load(name)
        self._of_thread.found = payload
        return payload

    def save(self, name: str, cubin: bytes, source: str) -> None:
        """As CuPy's cache."""
        self.inner.save(name, cubin, source)
        self._of_thread.kept = cubin


class CachedLoader:
    """Loads each kernel by the call of CuPy's that asked for it, once per generation.

    A kernel that is obtained anew and is the same bytes stays the module that it was, with the
    settings that users made on its functions.
    """

    queued_count = 0

    def __init__(
        self,
        compiler: Any,
        observer: Callable[[KernelEvent], object] | None = None,
    ) -> None:
        """`compiler` is the module `cupy.cuda.compiler`."""
        self._compiler = compiler
        self._observer = observer
        self._loaded: dict[Any, tuple[Any, LoadedModule]] = {}
        """Id to the call that CuPy made last, and what that came to."""
        self._modules: dict[Any, LoadedModule] = {}
        self._lock = threading.RLock()

    def enqueue(self, id: Any, kernel: Any) -> None:
        """Loads it: CuPy has no queue."""
        self.load(id, kernel)

    def compile_queued(self) -> None:
        """Nothing is ever queued."""

    def queued_ids(self) -> tuple[Any, ...]:
        """Nothing is ever queued."""
        return ()

    def prioritise(self, seconds: Mapping[Any, float], otherwise: float = 0.0) -> None:
        """Nothing is ever queued."""

    def abandon_queued(self) -> None:
        """Nothing is ever queued."""

    def begin_generation(self) -> None:
        """What is loaded is obtained again when it is next reached."""
        with self._lock:
            self._loaded = {}

    def forget(self, ids: Collection[Any]) -> None:
        """`begin_generation` for these kernels alone."""
        with self._lock:
            self._loaded = {id: there for id, there in self._loaded.items() if id not in ids}

    def load(self, id: Any, kernel: Any) -> LoadedModule:
        """The module that CuPy's own call returns; raises what that raises."""
        __tracebackhide__ = True
        asked, loaded = self._loaded.get(id, (None, None))
        if loaded is not None and asked is kernel:
            return loaded
        with self._lock:  # CuPy would let two threads compile the same kernel: it counts once
            asked, loaded = self._loaded.get(id, (None, None))
            if loaded is None:
                loaded = self._obtain(id, kernel.call)
            elif asked is not kernel:  # CuPy asks anew: it is answered anew, and counts once
                loaded = self._kept(id, self._called(kernel.call))
            self._loaded[id] = kernel, loaded
            return loaded

    def _obtain(self, id: Any, call: Callable[[], Any]) -> LoadedModule:
        registration = KernelRegistration.register()
        cache, began = self._watched_cache(), perf_counter()
        try:
            try:
                made = self._called(call)
            except Exception as error:
                self._failed(registration, cache, id, perf_counter() - began, error)
                raise
            outcome = KernelOutcome.LOADED if cache.hit else KernelOutcome.COMPILED
            settled = self._settle(registration, id, outcome, perf_counter() - began)
            if settled is not None and cache.saved:
                settled.record(KernelHandling.STORED)
        finally:
            if registration is not None:
                registration.abandon()  # after an interrupt: a settled one is left alone
        return self._kept(id, made)

    def _called(self, call: Callable[[], Any]) -> LoadedModule:
        cache = self._watched_cache()
        module = call()
        return LoadedModule(CudaArtifact(cache.payload or b"", dict(module.mapping or {})), module)

    def _kept(self, id: Any, loaded: LoadedModule) -> LoadedModule:
        there = self._modules.get(id)
        if there is None or there.artifact.image != loaded.artifact.image:
            self._modules[id] = there = loaded
        return there

    def _watched_cache(self) -> WatchedCache:
        cache = self._compiler._kernel_cache_backend
        if not isinstance(cache, WatchedCache):  # at first, or when somebody has set another one
            cache = WatchedCache(cache)
            self._compiler._set_kernel_cache_backend(cache)
        cache.begin()
        return cache

    def _failed(
        self,
        registration: KernelRegistration | None,
        cache: WatchedCache,
        id: Any,
        seconds: float,
        error: Exception,
    ) -> None:
        """A kernel that the cache had, or took, was refused by the device after that."""
        if cache.payload is not None:
            outcome = KernelOutcome.LOADED if cache.hit else KernelOutcome.COMPILED
            settled = self._settle(registration, id, outcome, seconds)
            if settled is not None:
                settled.record(KernelHandling.REFUSED)
        else:
            failure = CompilationError(str(error), log=str(error), cause=error)
            self._settle(registration, id, KernelOutcome.FAILED, seconds, failure)

    def _settle(
        self,
        registration: KernelRegistration | None,
        id: Any,
        outcome: KernelOutcome,
        seconds: float,
        error: CompilationError | None = None,
    ) -> Settled[KernelHandling] | None:
        settled = None if registration is None else registration.settle(outcome)
        if self._observer is not None:
            collectors = () if registration is None else (registration.collector,)
            self._observer(KernelEvent(id, outcome, seconds, error, collectors))
        return settled


@contextmanager
def fresh_cache(folder: Path) -> Iterator[None]:
    """CuPy keeps its kernels in `folder`, for the length of a block."""
    from cupy.cuda import compiler
    from cupy.cuda._compiler_cache import DiskKernelCacheBackend

    before = compiler._kernel_cache_backend
    compiler._set_kernel_cache_backend(DiskKernelCacheBackend(str(folder)))
    try:
        yield
    finally:
        compiler._set_kernel_cache_backend(before)
