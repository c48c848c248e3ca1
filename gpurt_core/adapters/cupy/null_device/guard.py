"""Keeping the host's memory: what is written to the null device becomes real memory of the host."""

from __future__ import annotations

from gpurt_core.adapters.cupy.null_device.profiles import MIB
from gpurt_core.execution import host_memory

REAL_BYTES = 256 * MIB
"""At most this much of one copy or fill within devices is done; the rest of a longer one is left
as it was. More than a test looks at, and done in a fraction of a second. A copy from or to the host
has no such bound: the host has that much memory, at the other end."""

_STEP = 64 * MIB
"""After this many written bytes the host is asked what it has left: that takes 50 microseconds."""

_KEPT_SHARE = 8
"""One part in this many of the host's memory is left to others, however much is asked for."""


class HostGuard:
    """Tells whether a write may become real memory. One that may not is left out."""

    def __init__(self) -> None:
        self._written = 0

    def allows(self, size: int) -> bool:
        """Whether `size` more bytes may be written. Approximate between threads."""
        self._written += size
        if self._written < _STEP:
            return True
        available, total = host_memory()
        if size > available - total // _KEPT_SHARE:
            return False
        self._written = 0
        return True
