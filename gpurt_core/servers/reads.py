"""Who is told when device memory is read back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

_log = logging.getLogger(__name__)

ReadObserver = Callable[[Any], object]


class ReadObservers:
    """Callbacks, told of each read on the thread that reads, before it reads.

    Added and removed on any thread. One that raises an `Exception` is logged, and the read goes on;
    another `BaseException`, as that of a limit that is reached, ends the read.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._observers: tuple[ReadObserver, ...] = ()

    def add(self, observer: ReadObserver) -> None:
        """Tells `observer` of each read from now on."""
        with self._lock:
            self._observers = (*self._observers, observer)

    def remove(self, observer: ReadObserver) -> None:
        """Tells it no more, once for each time that it was added."""
        with self._lock:
            left = list(self._observers)
            if observer in left:
                left.remove(observer)
            self._observers = tuple(left)

    def tell(self, array: Any) -> None:
        """Tells everyone that `array` is about to be read."""
        for observer in self._observers:
            try:
                observer(array)
            except Exception:
                _log.exception("an observer of reads raised")
