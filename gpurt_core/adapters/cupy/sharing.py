"""Compiling what no other process is compiling: each kernel once, over all that share a store.

Whoever claims a kernel compiles it; the others wait until it is kept, and take it from there. Of a
process that died the claim is void. Claims also say which processes may compile at this moment: all
together never use more CPUs than they may.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from itertools import chain, repeat
from typing import Protocol

from gpurt_core.adapters.cupy.artifact import CudaArtifact
from gpurt_core.adapters.cupy.compiler import CudaKernel
from gpurt_core.adapters.cupy.pool import CompilePool
from gpurt_core.adapters.cupy.target import ArtifactStore
from gpurt_core.compilation import Found

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


class SharingCompiler:
    """A compiler in front of a pool, for one store."""

    def __init__(
        self, pool: CompilePool, store: ArtifactStore, claims: ClaimSource, at_once: int
    ) -> None:
        """`at_once` is how many kernels may be compiling, in all processes together."""
        self._pool = pool
        self._store = store
        self._claims = claims
        self._slots = [f"slot:{number}" for number in range(at_once)]
        self._turns = threading.Semaphore(at_once)
        self._held: dict[str, Claim] = {}
        self._lock = threading.Lock()

    def lower(self, id: str, kernel: CudaKernel) -> CudaKernel:
        """CUDA has one step."""
        return kernel

    def source(self, lowered: CudaKernel) -> None:
        """See `CudaCompiler.source`."""

    def finalize(self, id: str, lowered: CudaKernel) -> CudaArtifact | Found[CudaArtifact]:
        """Compiles it, or waits for who does; raises `CompilationError`.

        The claim is kept until `release`: when the artifact is where the others look.
        """
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            made = self._make_in_turn(id, lowered)
            if made is not None:
                return made
            time.sleep(pause)
            there = self._stored(id)
            if there is not None:
                return Found(there)
        raise AssertionError("there is always another pause")

    def _make_in_turn(
        self, id: str, kernel: CudaKernel
    ) -> CudaArtifact | Found[CudaArtifact] | None:
        """Makes it when its turn comes, here and among all processes; `None`: another one does."""
        with self._turns:  # few threads of this process ask for a slot at a time
            while (slot := self._claims.claim_any(self._slots)) is None:
                time.sleep(_PAUSES[2])
            try:
                return self._make(id, kernel)
            finally:
                slot.release()

    def release(self, id: str) -> None:
        """The artifact is kept, or never will be: nobody needs to wait for it any longer."""
        with self._lock:
            claim = self._held.pop(id, None)
        if claim is not None:
            claim.release()

    def _make(self, id: str, kernel: CudaKernel) -> CudaArtifact | Found[CudaArtifact] | None:
        claim = self._claims.claim_any([f"kernel:{id}"])
        if claim is None:
            return None
        with self._lock:
            self._held[id] = claim
        try:
            there = self._stored(id)
            artifact = self._pool.finalize(id, kernel) if there is None else Found(there)
        except BaseException:
            self.release(id)
            raise
        if isinstance(artifact, Found):
            self.release(id)
        return artifact

    def _stored(self, id: str) -> CudaArtifact | None:
        content = self._store.artifact(id)
        return None if content is None else CudaArtifact.decode(content)
