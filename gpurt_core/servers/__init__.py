"""Servers: the one owner of a device, its kernels, streams, arrays and launches."""

from gpurt_core.compilation import ArtifactStore
from gpurt_core.errors import (
    BadAddress,
    KernelLanguageMissing,
    LaunchFailed,
    NoDevice,
    ServerClosed,
)
from gpurt_core.servers.addresses import DeviceAddress, Part
from gpurt_core.servers.arrays import ServerArray
from gpurt_core.servers.backends import Backend, hookimpl, register, unregister
from gpurt_core.servers.connecting import connect
from gpurt_core.servers.device_server import DeviceServer
from gpurt_core.servers.driver import Driver, Run
from gpurt_core.servers.kernels import Kernel, Launch
from gpurt_core.servers.options import ServerOptions
from gpurt_core.servers.reads import ReadObservers
from gpurt_core.servers.server import Server
from gpurt_core.servers.streams import ServerStream

__all__ = [
    "ArtifactStore",
    "Backend",
    "BadAddress",
    "DeviceAddress",
    "DeviceServer",
    "Driver",
    "Kernel",
    "KernelLanguageMissing",
    "Launch",
    "LaunchFailed",
    "NoDevice",
    "Part",
    "ReadObservers",
    "Run",
    "Server",
    "ServerArray",
    "ServerClosed",
    "ServerOptions",
    "ServerStream",
    "connect",
    "hookimpl",
    "register",
    "unregister",
]
