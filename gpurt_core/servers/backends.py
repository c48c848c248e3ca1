"""Backends: who has devices. A package adds its own with the hook `gpurt_servers`.

    from gpurt_core.servers import hookimpl

    @hookimpl
    def gpurt_servers():
        return MyBackend()

in a module that its entry point in the group `"gpurt"` names, or that is given to `register`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

import pluggy

from gpurt_core.servers.addresses import DeviceAddress
from gpurt_core.servers.options import ServerOptions
from gpurt_core.servers.server import Server

_PROJECT = "gpurt"
hookspec = pluggy.HookspecMarker(_PROJECT)
hookimpl = pluggy.HookimplMarker(_PROJECT)
"""Marks a function as an implementation of the hook."""


class Backend(Protocol):
    """A kind of devices."""

    @property
    def scheme(self) -> str:
        """The first part of its addresses, as `"opencl"`; lower case."""

    def devices(self) -> Sequence[str]:
        """Its devices, as people call them, in the order of their addresses.

        Raises `NoDevice` with the reason where there are none.
        """

    def connect(self, address: DeviceAddress, options: ServerOptions) -> Server:
        """A server of the device at `address`; raises `NoDevice` where there is none."""


class _Hooks:
    @hookspec
    def gpurt_servers(self) -> Backend:  # type: ignore[empty-body]
        """A backend, whose devices `connect` then finds."""


class Backends:
    """The backends that there are: by the order in which `connect()` looks for a device."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._manager = pluggy.PluginManager(_PROJECT)
        self._manager.add_hookspecs(_Hooks)
        self._looked_for_packages = False

    def register(self, plugin: Any) -> None:
        """Adds what has an implementation of the hook."""
        self._manager.register(plugin)

    def unregister(self, plugin: Any) -> None:
        """Takes it out again."""
        self._manager.unregister(plugin)

    def all(self) -> list[Backend]:
        """Every backend, by its scheme: CUDA, OpenCL, and then the others as they registered."""
        with self._lock:
            if not self._looked_for_packages:
                self._looked_for_packages = True
                self._register_own()
                self._manager.load_setuptools_entrypoints(_PROJECT)
        # pluggy asks those that registered last first.
        found: list[Backend] = list(reversed(self._manager.hook.gpurt_servers()))
        first = {"cuda": 0, "opencl": 1}
        return sorted(found, key=lambda backend: first.get(backend.scheme, len(first)))

    def _register_own(self) -> None:
        from gpurt_core.servers.cuda import backend as cuda
        from gpurt_core.servers.opencl import backend as opencl

        for plugin in (cuda, opencl):
            self._manager.register(plugin)


backends = Backends()
"""Those of this process."""


def register(plugin: Any) -> None:
    """Adds what implements `gpurt_servers`: a module or an object."""
    backends.register(plugin)


def unregister(plugin: Any) -> None:
    """Takes it out again; servers that are connected stay."""
    backends.unregister(plugin)
