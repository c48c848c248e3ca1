"""What the tuner asks of a stream, and of whoever keeps picks and shares work between processes.

`gpurt_core.servers`' streams and `gpurt_core.environment`'s environments are such.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from gpurt_core.environment import StoredPick
from gpurt_core.execution import ServiceStream


class TunedStream(Protocol):
    """A stream that candidates launch on."""

    @property
    def service_stream(self) -> ServiceStream:
        """What a `StreamModeOverride` of it names; its `service` is the device."""

    @property
    def device(self) -> str:
        """The fingerprint: the device, its driver and its compiler, with their versions."""

    def profile(self, function: Callable[[], object]) -> float:
        """Seconds on the device of what `function` launches on this stream, by its own timers.

        Waits for it. Raises what went wrong with it. Called on a thread of the tuner's, with the
        context variables of the one that tunes: state of that thread alone (a current device, a
        current stream) is for `profile` to set.
        """

    def synchronize(self) -> None:
        """Waits for what was launched before; raises what failed of it."""

    def compile_queued(self) -> None:
        """Compiles what is queued for the device."""


class PickStore(Protocol):
    """Keeps picks between runs. Raises nothing: what it cannot read was not there."""

    def pick(self, device: str, tuner: str, key: str, checksum: str) -> StoredPick | None:
        """The pick for a key."""

    def store_pick(self, pick: StoredPick) -> bool:
        """Keeps a pick; says whether it was kept."""


class Claim(Protocol):
    """A piece of work that this process does."""

    def release(self) -> None:
        """Gives it up."""


@runtime_checkable
class ClaimGiver(Protocol):
    """Says who does a piece of work, of all processes that share it. A store may be one."""

    def claim(self, what: str) -> Claim | None:
        """Claims it for this process; `None` where somebody has it, or nothing can be claimed."""

    def is_claimed(self, what: str) -> bool:
        """Whether somebody alive has it."""
