"""What has no stand-in without a device: CUDA's own errors say so."""

from __future__ import annotations

from typing import NoReturn

from gpurt_core.adapters.cupy.null_device.libraries import absences
from gpurt_core.adapters.cupy.null_device.status import (
    DriverStatus,
    RuntimeStatus,
    fail,
    fail_driver,
)


def _fail_ipc() -> NoReturn:
    absences.append("memory cannot be shared between processes (CUDA IPC) without a driver")
    fail(RuntimeStatus.NOT_SUPPORTED)


def _fail_linking() -> NoReturn:
    absences.append("device code cannot be linked without a driver")
    fail_driver(DriverStatus.CUDA_ERROR_JIT_COMPILER_NOT_FOUND)


class IpcFunctions:
    """Sharing memory between processes: not supported, as on devices without IPC."""

    def ipcGetMemHandle(self, devPtr: int) -> NoReturn:
        _fail_ipc()

    def ipcOpenMemHandle(self, handle: bytes, flags: int = 1) -> NoReturn:
        _fail_ipc()

    def ipcCloseMemHandle(self, devPtr: int) -> NoReturn:
        _fail_ipc()

    def ipcGetEventHandle(self, event: int) -> NoReturn:
        _fail_ipc()

    def ipcOpenEventHandle(self, handle: bytes) -> NoReturn:
        _fail_ipc()


class LinkFunctions:
    """Linking device code is the driver's compiler, which is not here."""

    def linkCreate(self) -> NoReturn:
        _fail_linking()

    def linkAddData(self, state: int, input_type: int, data: bytes, name: str) -> NoReturn:
        _fail_linking()

    def linkAddFile(self, state: int, input_type: int, path: str) -> NoReturn:
        _fail_linking()

    def linkComplete(self, state: int) -> NoReturn:
        _fail_linking()

    def linkDestroy(self, state: int) -> None:
        """There is never one."""
