"""Seeing what is read back from a real device: all of it goes through `ndarray.get`.

On the null device each copy is seen; here nothing is in the place of CUDA, but `cupy.ndarray` is a
Python class, and CuPy's compiled code calls the methods that it overrides.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from gpurt_core.adapters.cupy.early import forget, when_imported
from gpurt_core.execution import ReadMonitor

_MODULE = "cupy._creation.basic"  # imported once all of `cupy._core` is


class DeviceReads:
    """Counts reads of CuPy's arrays."""

    def __init__(self) -> None:
        self.monitor = ReadMonitor()
        """What was read back."""
        self._array: Any = None

    def install(self) -> None:
        """Now, or once CuPy has arrays."""
        when_imported(_MODULE, self._install)

    def uninstall(self) -> None:
        """Reads are CuPy's own again."""
        forget(_MODULE, self._install)
        if self._array is not None:
            del self._array.get
            self._array = None

    def _install(self, module: ModuleType) -> None:
        array, monitor = _array_type(), self.monitor
        original = array.get

        def get(self: Any, *arguments: Any, **keywords: Any) -> Any:
            monitor.record(self.nbytes)
            return original(self, *arguments, **keywords)

        get.__doc__ = original.__doc__
        array.get = get
        self._array = array


def _array_type() -> Any:
    from cupy._core import core

    return core.ndarray
