"""Building programs as PyOpenCL does, with its own cache, where there is no environment.

What comes from that cache counts as loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import pyopencl

from gpurt_core.compilation import CompilationError, Found
from gpurt_core.servers.opencl.artifact import ClArtifact
from gpurt_core.servers.opencl.keys import ClKernel


@dataclass(frozen=True)
class PlainProgram(ClKernel):
    """A program with the call of PyOpenCL that builds it."""

    build: Callable[[], tuple[Any, bool]] = field(repr=False, compare=False)
    """Gives a `pyopencl._cl._Program`, and whether it comes from PyOpenCL's cache."""


def with_build(kernel: ClKernel, build: Callable[[], tuple[Any, bool]]) -> PlainProgram:
    """The kernel, with that call."""
    return PlainProgram(**{f.name: getattr(kernel, f.name) for f in fields(kernel)}, build=build)


class BuiltProgram:
    """A program that PyOpenCL built."""

    def __init__(self, program: Any, kernel: ClKernel) -> None:
        self.program = program
        self.context = kernel.context
        self._devices = kernel.devices
        self.log = ""
        """PyOpenCL has told what the compiler said."""

    @cached_property
    def artifact(self) -> ClArtifact:
        """Its binaries, for another context of the same devices."""
        info = pyopencl.program_info
        made = dict(
            zip(
                self.program.get_info(info.DEVICES),
                self.program.get_info(info.BINARIES),
                strict=True,
            )
        )
        return ClArtifact(tuple(made[device] for device in self._devices))


class PlainTarget:
    """PyOpenCL itself; it keeps what it keeps."""

    persists = False

    @property
    def compiler(self) -> PlainTarget:
        """What compiles."""
        return self

    def lower(self, id: str, kernel: PlainProgram) -> PlainProgram:
        """OpenCL has one step."""
        return kernel

    def source(self, lowered: PlainProgram) -> None:
        """The id is made of the source: another id means another artifact."""

    def finalize(self, id: str, lowered: PlainProgram) -> BuiltProgram | Found[BuiltProgram]:
        """Builds it; raises `CompilationError`, with PyOpenCL's error as its cause."""
        try:
            program, was_cached = lowered.build()
        except pyopencl.Error as error:
            raise CompilationError(
                f"{lowered.label} does not compile: {error}",
                kernel=lowered.label,
                log=str(error),
                cause=error,
            ) from error
        built = BuiltProgram(program, lowered)
        return Found(built) if was_cached else built

    def stored(self, id: str) -> None:
        """Nothing."""

    def stored_for_source(self, source: str) -> None:
        """Nothing."""

    def store(self, id: str, artifact: BuiltProgram, source: str | None) -> bool:
        """Keeps nothing."""
        return False

    def load(self, id: str, artifact: BuiltProgram) -> BuiltProgram:
        """It is loaded."""
        return artifact
