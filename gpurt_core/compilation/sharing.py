"""Compiling what no other process is compiling: each kernel once, over all that share a store.

Whoever claims a kernel compiles it; the others wait until it is kept, and take it from there. Of a
process that died the claim is void. Claims also say which processes may compile at this moment: all
together never use more CPUs than they may.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection, Sequence
from itertools import chain, repeat
from typing import Any, Generic, Protocol

from gpurt_core.compilation.cpus import usable_cpus
from gpurt_core.compilation.events import Observer
from gpurt_core.compilation.loader import KernelLoader
from gpurt_core.compilation.target import (
    Artifact,
    CompilationTarget,
    Found,
    Id,
    Kernel,
    Loaded,
)

KERNEL_CLAIM = "kernel:"
"""What the claim of a kernel is called, before its id."""
_WAITING_THREADS = 32
"""How many threads compile for a shared target: those that wait for another process cost next to
nothing."""

_PAUSES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
"""How long a thread waits before it looks again (seconds): a kernel takes 0.02 to 2 s."""


class Claim(Protocol):
    """A piece of work that is this process's."""

    def release(self) -> None:
        """Gives it up."""


class ClaimSource(Protocol):
    """Where claims are kept, for all processes."""

    def claim_any(self, whats: Sequence[str]) -> Claim | None:
        """The first of these that nobody alive has; `None` where all are taken."""


def open_loader(
    target: CompilationTarget[Id, Kernel, Artifact, Loaded],
    *,
    claims: ClaimSource | None = None,
    parallelism: int | None = None,
    share: int | None = None,
    on_settled: Observer | None = None,
) -> KernelLoader[Id, Kernel, Artifact, Loaded]:
    """A loader for a target whose kernels other processes may be compiling, as `claims` say.

    `parallelism` is how many kernels compile at once: in all processes together, if they share, and
    `share` of them in this one.
    """
    if claims is None:
        return KernelLoader(target, parallelism=parallelism, on_settled=on_settled)
    at_once = parallelism or usable_cpus()
    shared = SharingTarget(target, claims, at_once, share or at_once)
    return KernelLoader(shared, parallelism=_WAITING_THREADS, on_settled=on_settled)


class SharingTarget(Generic[Id, Kernel, Artifact, Loaded]):
    """A target in front of another one, for one store; it is its own compiler."""

    def __init__(
        self,
        target: CompilationTarget[Id, Kernel, Artifact, Loaded],
        claims: ClaimSource,
        at_once: int,
        share: int,
    ) -> None:
        """`at_once` is how many kernels may be compiling, in all processes together: no more than
        `share` in this one, for that is what it has the means for."""
        self._target = target
        self._claims = claims
        self._slots = [f"slot:{number}" for number in range(at_once)]
        self._share = share
        self.persists = target.persists
        self._begin()

    def _begin(self) -> None:
        self._owner = os.getpid()
        self._turns = threading.Semaphore(self._share)
        self._held: dict[Id, Claim] = {}
        self._unwanted: set[Id] = set()
        self._lock = threading.Lock()

    @property
    def compiler(self) -> SharingTarget[Id, Kernel, Artifact, Loaded]:
        """This."""
        return self

    def lower(self, id: Id, kernel: Kernel) -> Any:
        """What the target's compiler makes of it."""
        return self._target.compiler.lower(id, kernel)

    def source(self, lowered: Any) -> str | None:
        """What the target's compiler says."""
        return self._target.compiler.source(lowered)

    def finalize(self, id: Id, lowered: Any) -> Artifact | Found[Artifact]:
        """Compiles it, or waits for who does; raises `CompilationError`.

        The claim is kept until the artifact is where the others look, or never will be.
        """
        if self._owner != os.getpid():  # what a forked child has of its parent may be taken
            self._begin()
        self._unwanted.discard(id)
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            made = self._make_in_turn(id, lowered)
            if made is not None:
                return made
            time.sleep(pause)
            self._check_wanted(id)
            there = self._target.stored(id)
            if there is not None:
                return Found(there)
        raise AssertionError("there is always another pause")

    def interrupt(self, ids: Collection[Id]) -> None:
        """Has those who wait for one of these kernels, or for their turn, wait no longer."""
        self._unwanted.update(ids)
        for id in ids:
            self._release(id)

    def _check_wanted(self, id: Id) -> None:
        if id in self._unwanted:
            raise InterruptedError(f"nobody waits for kernel {id!r} any longer")

    def stored(self, id: Id) -> Artifact | None:
        """The artifact that is kept under `id`."""
        return self._target.stored(id)

    def stored_for_source(self, source: str) -> Artifact | None:
        """An artifact that was compiled from `source`."""
        return self._target.stored_for_source(source)

    def store(self, id: Id, artifact: Artifact, source: str | None) -> bool:
        """Keeps it; those who wait find it."""
        try:
            return self._target.store(id, artifact, source)
        finally:
            self._release(id)

    def load(self, id: Id, artifact: Artifact) -> Loaded:
        """The artifact, loaded; raises `LoadRefused`."""
        try:
            return self._target.load(id, artifact)
        except BaseException:
            self._release(id)
            raise

    def _make_in_turn(self, id: Id, lowered: Any) -> Artifact | Found[Artifact] | None:
        """Makes it when its turn comes, here and among all processes; `None`: another one does."""
        with self._turns:  # few threads of this process ask for a slot at a time
            self._check_wanted(id)
            while (slot := self._claims.claim_any(self._slots)) is None:
                time.sleep(_PAUSES[2])
                self._check_wanted(id)
            try:
                return self._make(id, lowered)
            finally:
                slot.release()

    def _make(self, id: Id, lowered: Any) -> Artifact | Found[Artifact] | None:
        claim = self._claims.claim_any([f"{KERNEL_CLAIM}{id}"])
        if claim is None:
            return None
        with self._lock:
            self._held[id] = claim
        try:
            there = self._target.stored(id)
            compile_ = self._target.compiler.finalize
            made = compile_(id, lowered) if there is None else Found(there)
        except BaseException:
            self._release(id)
            raise
        if isinstance(made, Found) or id in self._unwanted:
            self._release(id)
        return made

    def _release(self, id: Id) -> None:
        with self._lock:
            claim = self._held.pop(id, None)
        if claim is not None:
            claim.release()
