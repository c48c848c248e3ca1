"""An OpenCL device as a target of the kernel loader, with the environment behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpurt_core.compilation import ArtifactStore, LoadRefused
from gpurt_core.servers.opencl.artifact import ClArtifact
from gpurt_core.servers.opencl.compiler import ClCompiler
from gpurt_core.servers.opencl.keys import ClKernel
from gpurt_core.servers.options import NoStore


class LoadedProgram:
    """A program that its devices have loaded."""

    def __init__(self, program: Any, artifact: ClArtifact, context: Any) -> None:
        self.program = program
        """A `pyopencl._cl._Program`."""
        self.artifact = artifact
        self.context = context
        self._functions: dict[str, Any] = {}

    @property
    def log(self) -> str:
        """What the compiler said although it succeeded."""
        return self.artifact.log

    def function(self, name: str) -> Any:
        """The one kernel of this name, for use on one thread; raises `ValueError`."""
        import pyopencl

        from gpurt_core.servers.opencl import native

        function = self._functions.get(name)
        if function is None:
            try:
                function = native.Kernel(self.program, name)
            except pyopencl.LogicError as error:
                names = self.program.get_info(pyopencl.program_info.KERNEL_NAMES).split(";")
                raise ValueError(
                    f"its program has no kernel of this name: it has {', '.join(names)}"
                ) from error
            self._functions[name] = function
        return function


class ClTarget:
    """The devices that kernels are for."""

    def __init__(self, store: ArtifactStore | None) -> None:
        self.compiler = ClCompiler()
        self.persists = store is not None
        self._store = store or NoStore()
        self._kernels: dict[str, ClKernel] = {}

    def expect(self, id: str, kernel: ClKernel) -> None:
        """Says what is loaded under an id, and where: before it is."""
        self._kernels.setdefault(id, kernel)

    def stored(self, id: str) -> ClArtifact | None:
        """What the environment has of it; damaged or foreign bytes are nothing."""
        content = self._store.artifact(id)
        artifact = None if content is None else ClArtifact.decode(content)
        if artifact is None or len(artifact.binaries) != len(self._kernels[id].devices):
            return None
        return artifact

    def stored_for_source(self, source: str) -> ClArtifact | None:
        """Nothing: see `ClCompiler.source`."""
        return None

    def store(self, id: str, artifact: ClArtifact, source: str | None) -> bool:
        """Keeps it in the environment."""
        return self._store.store(id, artifact.encode(), label=self._kernels[id].label)

    def load(self, id: str, artifact: ClArtifact) -> LoadedProgram:
        """Loads its binaries on the devices; raises `LoadRefused`."""
        import pyopencl

        kernel = self._kernels[id]
        try:
            return LoadedProgram(
                program_of(artifact, kernel.context, kernel.devices), artifact, kernel.context
            )
        except pyopencl.Error as error:
            raise LoadRefused(
                f"the device refused {kernel.label}: {error}", kernel=kernel.label, cause=error
            ) from error


def program_of(artifact: ClArtifact, context: Any, devices: Sequence[Any]) -> Any:
    """A program of these binaries, ready for use; raises PyOpenCL's error."""
    import pyopencl

    program = pyopencl._cl._Program(context, list(devices), list(artifact.binaries))
    program._build(artifact.options.encode(), list(devices))
    return program
