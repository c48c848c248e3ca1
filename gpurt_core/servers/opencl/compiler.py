"""Building OpenCL programs from source, on any thread.

Built by the driver itself: PyOpenCL's own cache is neither read nor written.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from gpurt_core.errors import CompilationError
from gpurt_core.servers.opencl.artifact import ClArtifact
from gpurt_core.servers.opencl.build_options import without_folders
from gpurt_core.servers.opencl.keys import ClKernel

_BETWEEN_LOGS = 75 * "=" + "\n"


class ClCompiler:
    """The compiler of each kernel's own devices."""

    def lower(self, id: str, kernel: ClKernel) -> ClKernel:
        """OpenCL has one step."""
        return kernel

    def source(self, lowered: ClKernel) -> None:
        """The id is made of the source: another id means another artifact."""

    def finalize(self, id: str, lowered: ClKernel) -> ClArtifact:
        """Builds it; raises `CompilationError`, with PyOpenCL's error as its cause."""
        with lowered.headers.as_they_were() as moved:
            _check_headers(lowered)
            folders = lowered.folders if moved is None else tuple(map(moved, lowered.folders))
            return build(lowered, lowered.option_bytes(folders))


def _check_headers(kernel: ClKernel) -> None:
    """A header in the working folder, where drivers look by themselves, cannot be brought back."""
    here = [
        path
        for path in kernel.headers.contents
        if not any(path.startswith(os.path.join(folder, "")) for folder in kernel.folders)
    ]
    if here and kernel.headers.changed():
        raise CompilationError(
            f"{kernel.label} does not compile: {here[0]} may have changed since the kernel was "
            "asked for; launch it again, or give the header's folder with -I",
            kernel=kernel.label,
        )


def build(kernel: ClKernel, options: bytes) -> ClArtifact:
    """Builds a program with these options; raises `CompilationError`."""
    import pyopencl

    devices = list(kernel.devices)
    program = pyopencl._cl._Program(kernel.context, kernel.source)
    try:
        program._build(options, devices)
    except pyopencl.Error as error:
        logs = build_logs(program, devices)
        raise _failure(kernel.label, error, logs, options) from None
    said = "".join(log for _device, log in build_logs(program, devices) if log.strip())
    kept = " ".join(without_folders(kernel.options))
    return ClArtifact(_binaries(program, devices), kept, said)


def _binaries(program: Any, devices: Sequence[Any]) -> tuple[bytes, ...]:
    """A binary for each device; PoCL makes one of a part of a device for the whole of it."""
    import pyopencl

    info = pyopencl.program_info
    pairs = zip(program.get_info(info.DEVICES), program.get_info(info.BINARIES), strict=True)
    made = dict(pairs)
    return tuple(
        made[device] if device in made else made[device.parent_device] for device in devices
    )


def build_logs(program: Any, devices: Sequence[Any]) -> list[tuple[Any, str]]:
    """What the compiler said, for each device."""
    import pyopencl

    logs = []
    for device in devices:
        try:
            log = program.get_build_info(device, pyopencl.program_build_info.LOG)
        except pyopencl.Error:  # what cannot be built at all has none
            log = ""
        logs.append((device, log or ""))
    return logs


def _failure(
    label: str, error: Any, logs: Sequence[tuple[Any, str]], options: bytes
) -> CompilationError:
    log = _BETWEEN_LOGS.join(f"Build on {device}:\n\n{text}" for device, text in logs)
    return CompilationError(
        f"{label} does not compile: {_first_error(''.join(text for _device, text in logs), error)}",
        kernel=label,
        log=log,
        cause=_as_pyopencl_raises(error, log, options),
    )


def _as_pyopencl_raises(error: Any, log: str, options: bytes) -> Exception:
    """The error that `pyopencl.Program.build` makes of one of the driver."""
    import pyopencl

    message = f"{error}\n\n{log}"
    for more in ("", f"\n(options: {options.decode()})" if options else ""):
        record = pyopencl._cl._ErrorRecord(
            msg=message + more, code=error.code, routine=error.routine
        )
        raised: Exception = pyopencl.RuntimeError(record)
        message = str(raised)
    return raised


def _first_error(log: str, error: Any) -> str:
    """The first line of a log that says what is wrong."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()]
    return (telling or lines or [str(error)])[0]
