"""Getting the null device under CuPy before CuPy is imported, whoever imports it and when.

Three ways, for three moments:

- `EarlyInstaller(profiles)` in this process, while CuPy is not imported yet: the null device is
  installed in the middle of the first `import cupy`. Nothing of CuPy is imported before that.
- `startup_environment(profiles, environ)` for a process that is about to start, and for all that
  it starts: Python runs `startup/sitecustomize.py` before anything else.
- `when_imported(name, callback)` for those who want to change a module right after it was loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence

TYPE_CHECKING = False  # `typing`, `pathlib` and `importlib.abc` would cost each process 10 ms
if TYPE_CHECKING:
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from gpurt_core.adapters.cupy.null_device import DeviceProfile

Callback = Callable[["ModuleType"], None]

ENVIRONMENT_VARIABLE = "GPURT_NULL_DEVICE"
"""The architectures of the null devices, one each: `sm_80,sm_90`."""

STARTUP_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")
"""Put on `PYTHONPATH`, its `sitecustomize` is run by every interpreter."""

SEAM_MODULE = "cupy.cuda.compiler"
"""The module that has the one function that the seam replaces."""

_TRIGGERS = ("cupy_backends.cuda.api.runtime", "cupy_backends.cuda.api.driver")
"""The first modules of CuPy that hold functions of CUDA: no other has looked at them yet."""


class _Loader:
    """Another loader, and what happens once it has loaded the module."""

    def __init__(self, inner: Loader, loaded: Callback) -> None:
        self._inner = inner
        self._loaded = loaded

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:  # the module keeps the loader that it would have had
            spec.loader = module.__loader__ = self._inner
        self._inner.exec_module(module)
        self._loaded(module)


class _Finder:
    """Calls back after each of some modules is first imported."""

    def __init__(self) -> None:
        self.callbacks: dict[str, list[Callback]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.callbacks:
            return None
        spec = _find_with_others(self, name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._call)  # type: ignore[assignment]
        return spec

    def _call(self, module: ModuleType) -> None:
        for callback in list(self.callbacks.get(module.__name__, [])):
            callback(module)  # one that raises stays: the import fails, and may be tried again
        self.callbacks.pop(module.__name__, None)


def _find_with_others(
    finder: object, name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    """What the import system would find without `finder`."""
    for other in list(sys.meta_path):
        find = getattr(other, "find_spec", None)
        if other is finder or find is None:
            continue
        spec: ModuleSpec | None = find(name, path, target)
        if spec is not None:
            return spec
    return None


_finder = _Finder()


def when_imported(name: str, callback: Callback) -> None:
    """Calls `callback(module)` once the module is loaded: now, if it is.

    Callbacks of one module are called in the order in which they were given, before the import
    statement that loads it returns; what one raises, that statement raises. A module that is being
    loaded right now counts as not loaded only when it is not in `sys.modules` yet.
    """
    loaded = sys.modules.get(name)
    if loaded is not None:
        callback(loaded)
        return
    _finder.callbacks.setdefault(name, []).append(callback)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def forget(name: str, callback: Callback) -> None:
    """Takes a callback of `when_imported` back, if it was not called yet."""
    waiting = _finder.callbacks.get(name, [])
    if callback in waiting:
        waiting.remove(callback)
    if not waiting:
        _finder.callbacks.pop(name, None)


class EarlyInstaller:
    """Installs null devices of these profiles when CuPy is first imported.

    Made after CuPy was imported it raises `NullDeviceUnavailable`, as `NullDevice.install` does;
    made twice with the same profiles, the second does nothing. Profiles may be named, as in
    `profile_for`: then a name that there is not is an error of the import.
    """

    def __init__(self, profiles: Sequence[DeviceProfile | str]) -> None:
        self._profiles = tuple(profiles)
        self._installing = False
        if any(name in sys.modules for name in _TRIGGERS):
            self._install_if_possible()
            return
        for name in _TRIGGERS:
            when_imported(name, self._install_now)

    def remove(self) -> None:
        """Gives up, if CuPy has not been imported. What is installed stays installed."""
        for name in _TRIGGERS:
            forget(name, self._install_now)

    def _install_if_possible(self) -> None:
        from gpurt_core.adapters.cupy.null_device import NullDevice

        NullDevice.install(self._resolved())

    def _install_now(self, module: ModuleType) -> None:
        """Whichever of the two modules comes first brings the other: nobody knows either yet."""
        from gpurt_core.adapters.cupy.null_device import NullDevice

        if self._installing:
            return
        self._installing = True
        try:
            if NullDevice.current() is None:
                NullDevice.install_now(self._resolved())
            else:
                self._install_if_possible()
        finally:
            self._installing = False
        self.remove()

    def _resolved(self) -> list[DeviceProfile]:
        """Late: an interpreter that never imports CuPy pays for none of it."""
        from gpurt_core.adapters.cupy.null_device import profile_for

        return [profile_for(p) if isinstance(p, str) else p for p in self._profiles]


def join_parent(module: ModuleType) -> None:
    """A callback for `when_imported`: see `children.join_parent`."""
    from gpurt_core.adapters.cupy.children import join_parent

    join_parent(module)


def startup_path(environ: Mapping[str, str]) -> dict[str, str]:
    """The `PYTHONPATH` of child processes that are to run what is in the startup folder.

    What it held stays on it, behind that folder; so a `sitecustomize` of the user's runs, too.
    """
    kept = environ.get("PYTHONPATH", "").split(os.pathsep)
    path = [STARTUP_FOLDER, *(entry for entry in kept if entry not in ("", STARTUP_FOLDER))]
    return {"PYTHONPATH": os.pathsep.join(path)}


def startup_environment(
    profiles: Sequence[DeviceProfile], environ: Mapping[str, str]
) -> dict[str, str]:
    """`environ` for a child process that is to have null devices of these profiles."""
    names = ",".join(profile.architecture for profile in profiles)
    return {**environ, **startup_path(environ), ENVIRONMENT_VARIABLE: names}
