"""Servers that tests use: which device each worker has, and what is told of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from pytest_gpurt.options import GpuMode
from pytest_gpurt.visible_devices import worker_number

if TYPE_CHECKING:
    from gpurt_core.compilation import KernelEvent
    from gpurt_core.servers import Server
    from pytest_gpurt.run import GpuRun


class Devices:
    """The servers that this process has connected."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run
        self._server: Server | None = None

    @property
    def server(self) -> Server:
        """The server of this worker's device; raises `NoDevice`."""
        if self._server is None:
            from gpurt_core.servers import connect

            self._run.start_counting()
            self._server = connect(
                self._address(),
                environment=self._run.environment,
                parallelism=self._run.options.jobs,
                on_settled=self.settled,
                claims=self._run.environment,
            )
            if self._run.options.mode in (GpuMode.COMPILE_ONLY, GpuMode.AUTOTUNE):
                self._watch_reads(self._server)
        return self._server

    def require_any(self) -> None:
        """Raises `pytest.UsageError` where there is no device to measure on."""
        from gpurt_core.errors import BadAddress, NoDevice

        try:
            _ = self.server
        except (BadAddress, NoDevice) as error:
            raise pytest.UsageError(
                f"--gpu-mode=autotune measures on a device: {error}; "
                "install pytest-gpurt[opencl] for one on the CPU"
            ) from None

    def compile_queued(self) -> None:
        """Compiles what is queued on the device."""
        if self._server is not None:
            self._server.compile_queued()

    def begin_generation(self) -> None:
        """Kernels are obtained again when they are next reached."""
        if self._server is not None:
            self._server.begin_generation()

    def close(self) -> None:
        """Gives the device back."""
        server, self._server = self._server, None
        if server is not None:
            server.close()

    @contextmanager
    def synchronized(self) -> Iterator[None]:
        """Waits, at the end of a block, for what it launched; raises what went wrong."""
        yield
        if self._server is not None:
            self._server.synchronize()

    def _address(self) -> str | None:
        """A device for each worker: one of several, or a part of the only one."""
        address = self._run.options.device
        number = worker_number()
        workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        addresses = [] if address is None else address.replace(",", " ").split()
        if len(addresses) > 1:
            return addresses[number % len(addresses)]
        if addresses and addresses[0].endswith("/*"):  # "opencl:0/*": a part for each worker
            return f"{addresses[0][:-2]}.{number}/{workers}" if workers > 1 else addresses[0][:-2]
        return addresses[0] if addresses else None

    def _watch_reads(self, server: Server) -> None:
        from gpurt_core.execution import ReadMonitor

        monitor = ReadMonitor()
        self._run.frameworks.read_monitors.append(monitor)
        server.reads.add(lambda array: monitor.record())

    def settled(self, event: KernelEvent) -> None:
        """A kernel of a server, or of PyOpenCL code, has its outcome."""
        from gpurt_core.adapters.cupy.observer import KernelReport

        if self._run.journal is not None:
            error: Any = event.error
            self._run.journal.settled(
                KernelReport(
                    id=str(event.id),
                    label=str(getattr(error, "kernel", None) or "a kernel"),
                    arch="",
                    outcome=event.outcome,
                    seconds=event.seconds,
                    log=None if error is None else error.log,
                    parts={},
                    tried_by=event.tried_by,
                )
            )
