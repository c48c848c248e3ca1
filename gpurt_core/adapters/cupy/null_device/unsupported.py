"""What has no stand-in without a device: CUDA's own errors say so."""

from __future__ import annotations

from typing import NoReturn

from gpurt_core.adapters.cupy.null_device.status import (
    DriverStatus,
    RuntimeStatus,
    fail,
    fail_driver,
)


class IpcFunctions:
    """Sharing memory between processes: not supported, as on devices without IPC."""

    def ipcGetMemHandle(self, devPtr: int) -> NoReturn:
        fail(RuntimeStatus.NOT_SUPPORTED)

    def ipcOpenMemHandle(self, handle: bytes, flags: int = 1) -> NoReturn:
        fail(RuntimeStatus.NOT_SUPPORTED)

    def ipcCloseMemHandle(self, devPtr: int) -> NoReturn:
        fail(RuntimeStatus.NOT_SUPPORTED)

    def ipcGetEventHandle(self, event: int) -> NoReturn:
        fail(RuntimeStatus.NOT_SUPPORTED)

    def ipcOpenEventHandle(self, handle: bytes) -> NoReturn:
        fail(RuntimeStatus.NOT_SUPPORTED)


class LinkFunctions:
    """Linking device code is the driver's compiler, which is not here."""

    def linkCreate(self) -> NoReturn:
        fail_driver(DriverStatus.CUDA_ERROR_JIT_COMPILER_NOT_FOUND)

    def linkAddData(self, state: int, input_type: int, data: bytes, name: str) -> NoReturn:
        fail_driver(DriverStatus.CUDA_ERROR_JIT_COMPILER_NOT_FOUND)

    def linkAddFile(self, state: int, input_type: int, path: str) -> NoReturn:
        fail_driver(DriverStatus.CUDA_ERROR_JIT_COMPILER_NOT_FOUND)

    def linkComplete(self, state: int) -> NoReturn:
        fail_driver(DriverStatus.CUDA_ERROR_JIT_COMPILER_NOT_FOUND)

    def linkDestroy(self, state: int) -> None:
        """There is never one."""
