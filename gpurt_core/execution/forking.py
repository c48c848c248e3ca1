"""Locks that no fork finds taken."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager


def lock_held_over_forks() -> AbstractContextManager[bool]:
    """A reentrant lock that a forking thread holds while it forks.

    The child is left with one thread: a lock that another thread held at that moment would stay
    taken for ever, over state that is half written. Held over the fork, neither can be.

    Reentrant, because a finalizer may run on a thread that is inside the lock. For module level
    only: what is registered with the interpreter is never unregistered.
    """
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )
    return lock
