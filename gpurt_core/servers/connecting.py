"""Connecting: from an address to the one server of a device."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakValueDictionary

from gpurt_core.compilation import ArtifactStore, ClaimSource, KernelEvent
from gpurt_core.errors import NoDevice
from gpurt_core.execution.forking import lock_held_over_forks
from gpurt_core.servers.addresses import DeviceAddress
from gpurt_core.servers.backends import Backend, backends
from gpurt_core.servers.options import ServerOptions
from gpurt_core.servers.server import Server

_lock = lock_held_over_forks()
_servers: WeakValueDictionary[str, Server] = WeakValueDictionary()


def connect(
    address: str | None = None,
    *,
    environment: ArtifactStore | None = None,
    parallelism: int | None = None,
    on_settled: Callable[[KernelEvent], object] | None = None,
    claims: ClaimSource | None = None,
) -> Server:
    """The server of the device at `address`, or of the first device that there is.

    `"cuda:0"` is the first CUDA device, `"opencl:0.1"` the second half of the first OpenCL device
    (see `gpurt_core.servers.addresses`). Without an address CUDA devices are looked for first, then
    OpenCL devices, then those of other backends. The other arguments are those of `ServerOptions`.

    There is one server of a device: who connects to it again, with the same options or none, shares
    it, and the last one to close it closes it. Raises `BadAddress`, `NoDevice`, and `ValueError`
    where the device is connected with other options.
    """
    options = ServerOptions(environment, parallelism, on_settled, claims)
    known = backends.all()
    if address is not None:
        return _connect(DeviceAddress.parse(address), known, options)
    reasons: list[str] = []
    for backend in known:
        try:
            backend.devices()
            return _connect(DeviceAddress(backend.scheme, 0), known, options)
        except NoDevice as error:
            reasons += [f"{backend.scheme}: {reason}" for reason in error.reasons]
    raise NoDevice(None, reasons)


def _connect(address: DeviceAddress, known: list[Backend], options: ServerOptions) -> Server:
    backend = next((backend for backend in known if backend.scheme == address.scheme), None)
    if backend is None:
        schemes = ", ".join(backend.scheme for backend in known)
        raise NoDevice(str(address), [f"the backends are {schemes}"])
    name = str(address)
    with _lock:
        server = _servers.get(name)
        if server is not None and server.join(options):
            return server
        try:
            server = _servers[name] = backend.connect(address, options)
        except NoDevice as error:
            raise NoDevice(name, error.reasons) from error
        return server
