"""Compiling what no other process is compiling: each kernel once, over all that share a store.

Whoever claims a kernel compiles it; the others wait until it is kept, and take it from there. Of a
process that died the claim is void. Claims also say which processes may compile at this moment: all
together never use more CPUs than they may.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Protocol

from gpurt_core.adapters.cupy.artifact import CudaArtifact
from gpurt_core.adapters.cupy.compiler import CudaKernel
from gpurt_core.adapters.cupy.pool import CompilePool
from gpurt_core.adapters.cupy.target import ArtifactStore
from gpurt_core.compilation import Found

_PAUSES = (0.002, 0.005, 0.01, 0.02, 0.05)
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
        for attempt in range(1_000_000_000):
            slot = self._claims.claim_any(self._slots)
            if slot is not None:
                try:
                    made = self._make(id, lowered)
                finally:
                    slot.release()
                if made is not None:
                    return made
            time.sleep(_PAUSES[min(attempt, len(_PAUSES) - 1)])
            there = self._stored(id)
            if there is not None:
                return Found(there)
        raise AssertionError("waited for ever")

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
