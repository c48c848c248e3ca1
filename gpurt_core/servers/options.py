"""What is chosen when a server is connected, and where it keeps what it compiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpurt_core.compilation import ArtifactStore, ClaimSource, KernelEvent


class NoStore:
    """Keeps nothing."""

    def artifact(self, id: str) -> bytes | None:
        """Nothing is kept."""
        return None

    def store(
        self, id: str, artifact: bytes, *, source: str | None = None, label: str = ""
    ) -> bool:
        """Nothing is kept."""
        return False


@dataclass(frozen=True)
class ServerOptions:
    """How a server works."""

    environment: ArtifactStore | None = None
    """Where compiled kernels are kept between runs; `None`: nowhere."""
    parallelism: int | None = None
    """How many kernels compile at once, at most; `None`: as many as there are usable CPUs."""
    on_settled: Callable[[KernelEvent], object] | None = None
    """Is told of each kernel as it settles, on the server's thread."""
    claims: ClaimSource | None = None
    """Which process compiles what, where several share the environment; `None`: nobody else does.
    """
