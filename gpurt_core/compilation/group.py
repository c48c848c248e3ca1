"""The loaders of all devices of a framework, used as one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from gpurt_core.execution.overrides import republish


class QueueingLoader(Protocol):
    """What obtains the kernels of a device: `KernelLoader`, or another that queues as it does."""

    @property
    def queued_count(self) -> int:
        """How many kernels are queued."""

    def queued_ids(self) -> tuple[Any, ...]:
        """The ids of the queued kernels."""

    def enqueue(self, id: Any, kernel: Any) -> None:
        """Queues a kernel."""

    def load(self, id: Any, kernel: Any) -> Any:
        """The loaded kernel; raises `CompilationError` or `LoadRefused`."""

    def prioritise(self, seconds: Mapping[Any, float], otherwise: float = 0.0) -> None:
        """Puts the queue into the order of what each is expected to take, longest first."""

    def compile_queued(self) -> None:
        """Compiles the queue now."""

    def abandon_queued(self) -> None:
        """Drops the queue."""

    def begin_generation(self) -> None:
        """Starts accounting anew."""

    def forget(self, ids: Collection[Any]) -> None:
        """Starts accounting anew for these kernels alone."""


class LoaderGroup(ABC):
    """What a framework's seam is to those who compile what the seam has gathered."""

    @abstractmethod
    def loaders(self) -> Sequence[QueueingLoader]:
        """Those of all devices that were used."""

    @abstractmethod
    def forget_memos(self) -> None:
        """Has the framework ask again for what it keeps by itself."""

    @property
    def queued_count(self) -> int:
        """How many kernels are queued, over all devices."""
        return sum(loader.queued_count for loader in self.loaders())

    def queued_ids(self) -> list[str]:
        """The ids of the queued kernels, over all devices."""
        return [id for loader in self.loaders() for id in loader.queued_ids()]

    def prioritise(self, seconds: Mapping[str, float], otherwise: float) -> None:
        """Has the next batches begin with what is expected to take longest."""
        for loader in self.loaders():
            loader.prioritise(seconds, otherwise)

    def compile_queued(self) -> None:
        """Compiles what is queued, device by device."""
        for loader in self.loaders():
            if loader.queued_count:
                loader.compile_queued()

    def abandon_queued(self) -> None:
        """Drops what is queued."""
        for loader in self.loaders():
            loader.abandon_queued()

    def begin_generation(self) -> None:
        """Starts accounting anew: each kernel is obtained again when it is next reached."""
        for loader in self.loaders():
            loader.begin_generation()
        self.forget_memos()
        republish()

    def forget(self, ids: Collection[str]) -> None:
        """Starts accounting anew for these kernels alone."""
        for loader in self.loaders():
            loader.forget(ids)
        self.forget_memos()
        republish()
