"""The OpenCL backend: devices of every OpenCL driver that is installed, PoCL's among them."""

from __future__ import annotations

from gpurt_core.servers.addresses import DeviceAddress
from gpurt_core.servers.backends import Backend, hookimpl
from gpurt_core.servers.device_server import DeviceServer
from gpurt_core.servers.opencl.devices import device_at, find_devices
from gpurt_core.servers.options import ServerOptions
from gpurt_core.servers.server import Server


class OpenClBackend:
    """`"opencl:0"` is the first device of the first platform."""

    scheme = "opencl"

    def devices(self) -> list[str]:
        """The names of the devices."""
        return [f"{device.platform.name}, {device.name}" for device in find_devices()]

    def connect(self, address: DeviceAddress, options: ServerOptions) -> Server:
        """A server of a device, or of a part of one."""
        device = device_at(address)  # which settles PoCL before PyOpenCL is imported
        from gpurt_core.servers.opencl.driver import ClDriver

        return DeviceServer(str(address), ClDriver(device, options.environment), options)


@hookimpl
def gpurt_servers() -> Backend:
    """This backend."""
    return OpenClBackend()
