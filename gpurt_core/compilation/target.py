"""What differs between backends: a compiler, and a device with the environment behind it.

The compiler is called on worker threads, several at once. Everything else of a target is called on
the thread that asked for the batch.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

Id = TypeVar("Id", bound=Hashable)
Kernel = TypeVar("Kernel")
Artifact = TypeVar("Artifact")
Loaded = TypeVar("Loaded")

Id_contra = TypeVar("Id_contra", bound=Hashable, contravariant=True)
Kernel_contra = TypeVar("Kernel_contra", contravariant=True)
Artifact_co = TypeVar("Artifact_co", covariant=True)
Loaded_co = TypeVar("Loaded_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Found(Generic[Artifact_co]):
    """What a compiler returns for an artifact that it found under the kernel's own id.

    As one that another process compiled while this one waited for it: it counts as loaded, and is
    not stored again.
    """

    artifact: Artifact_co


class ArtifactCompiler(Protocol[Id_contra, Kernel_contra, Artifact_co]):
    """Turns a kernel into an artifact, in two steps. Must be safe to call from several threads."""

    def lower(self, id: Id_contra, kernel: Kernel_contra) -> Any:
        """The kernel in the form that is finalized, or `Found`; raises `CompilationError`."""

    def source(self, lowered: Any) -> str | None:
        """The text by which another kernel's artifact can be used instead; `None`: it cannot."""

    def finalize(self, id: Id_contra, lowered: Any) -> Artifact_co | Found[Artifact_co]:
        """The artifact, or `Found`; raises `CompilationError`. The step that takes long."""


class CompilationTarget(Protocol[Id_contra, Kernel_contra, Artifact, Loaded_co]):
    """A compiler, the device its artifacts are loaded on, and what keeps them between runs."""

    @property
    def compiler(self) -> ArtifactCompiler[Id_contra, Kernel_contra, Artifact]:
        """What compiles."""

    @property
    def persists(self) -> bool:
        """Whether anything is kept between runs; if not, nothing is looked up or stored."""

    def stored(self, id: Id_contra) -> Artifact | None:
        """The artifact that is kept under `id`."""

    def stored_for_source(self, source: str) -> Artifact | None:
        """An artifact that was compiled from `source`, under whatever id."""

    def store(self, id: Id_contra, artifact: Artifact, source: str | None) -> bool:
        """Keeps an artifact that the device has loaded; says whether it was kept."""

    def load(self, id: Id_contra, artifact: Artifact) -> Loaded_co:
        """The artifact, loaded on the device; raises `LoadRefused`."""


@runtime_checkable
class Interruptible(Protocol):
    """A target whose compiler waits for others."""

    def interrupt(self, ids: Collection[Any]) -> None:
        """Nobody wants these kernels any longer: who waits for one raises, whatever it is."""


class ArtifactStore(Protocol):
    """The part of an environment that targets use: bytes by id."""

    def artifact(self, id: str) -> bytes | None:
        """What is kept under `id`."""

    def store(
        self, id: str, artifact: bytes, *, source: str | None = None, label: str = ""
    ) -> bool:
        """Keeps it; says whether it was kept."""
