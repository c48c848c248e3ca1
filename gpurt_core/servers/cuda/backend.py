"""The CUDA backend: the devices that CuPy sees, those of the null device among them."""

from __future__ import annotations

from typing import Any

from gpurt_core.errors import NoDevice, UnsupportedCuPy
from gpurt_core.servers.addresses import DeviceAddress
from gpurt_core.servers.backends import Backend, hookimpl
from gpurt_core.servers.device_server import DeviceServer
from gpurt_core.servers.options import ServerOptions
from gpurt_core.servers.server import Server


class CudaBackend:
    """`"cuda:0"` is CUDA's device 0."""

    scheme = "cuda"

    def devices(self) -> list[str]:
        """The names of the devices."""
        runtime = _runtime()
        count = _device_count(runtime)
        return [runtime.getDeviceProperties(i)["name"].decode() for i in range(count)]

    def connect(self, address: DeviceAddress, options: ServerOptions) -> Server:
        """A server of a device."""
        count = _device_count(_runtime())
        if address.part is not None:
            reason = f"CUDA devices are not divided: connect cuda:{address.device}"
            raise NoDevice(str(address), [reason])
        if address.device >= count:
            raise NoDevice(str(address), [f"the last CUDA device is cuda:{count - 1}"])
        from gpurt_core.servers.cuda.driver import CudaDriver

        try:
            driver = CudaDriver(address.device, options.environment)
        except UnsupportedCuPy as error:
            raise NoDevice(str(address), [str(error)]) from error
        return DeviceServer(str(address), driver, options)


def _runtime() -> Any:
    try:
        from cupy.cuda import runtime
    except ImportError as error:
        reason = f"CuPy cannot be imported ({error}): pip install 'pytest-gpurt[cuda13]'"
        raise NoDevice("cuda", [reason]) from error
    return runtime


def _device_count(runtime: Any) -> int:
    try:
        count = int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as error:
        reason = f"CUDA says {error}: install the driver, or connect another kind of device"
        raise NoDevice("cuda", [reason]) from error
    if not count:
        raise NoDevice("cuda", ["CUDA has no device"])
    return count


@hookimpl
def gpurt_servers() -> Backend:
    """This backend."""
    return CudaBackend()
