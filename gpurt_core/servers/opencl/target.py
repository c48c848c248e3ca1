"""An OpenCL device as a target of the kernel loader, with the environment behind it."""

from __future__ import annotations

from typing import Any

from gpurt_core.compilation import LoadRefused
from gpurt_core.servers.opencl.artifact import ClArtifact
from gpurt_core.servers.opencl.compiler import ClCompiler
from gpurt_core.servers.options import ArtifactStore, NoStore


class LoadedProgram:
    """A program that its devices have loaded."""

    def __init__(self, program: Any, artifact: ClArtifact) -> None:
        self.program = program
        """A `pyopencl._cl._Program`."""
        self.artifact = artifact
        self._functions: dict[str, Any] = {}

    def function(self, name: str) -> Any:
        """The one `pyopencl.Kernel` of this name, for use on one thread; raises `ValueError`."""
        import pyopencl

        function = self._functions.get(name)
        if function is None:
            try:
                function = pyopencl.Kernel(self.program, name)
            except pyopencl.LogicError as error:
                names = self.program.get_info(pyopencl.program_info.KERNEL_NAMES).split(";")
                raise ValueError(
                    f"its program has no kernel of this name: it has {', '.join(names)}"
                ) from error
            self._functions[name] = function
        return function


class ClTarget:
    """The devices of one context."""

    def __init__(self, context: Any, devices: tuple[Any, ...], store: ArtifactStore | None) -> None:
        self.compiler = ClCompiler()
        self.persists = store is not None
        self._store = store or NoStore()
        self._context = context
        self._devices = devices
        self._labels: dict[str, str] = {}

    def name(self, id: str, label: str) -> None:
        """Says what people call a kernel, for the environment."""
        self._labels.setdefault(id, label)

    def stored(self, id: str) -> ClArtifact | None:
        """What the environment has of it; damaged or foreign bytes are nothing."""
        content = self._store.artifact(id)
        artifact = None if content is None else ClArtifact.decode(content)
        fits = artifact is not None and len(artifact.binaries) == len(self._devices)
        return artifact if fits else None

    def stored_for_source(self, source: str) -> ClArtifact | None:
        """Nothing: see `ClCompiler.source`."""
        return None

    def store(self, id: str, artifact: ClArtifact, source: str | None) -> bool:
        """Keeps it in the environment."""
        return self._store.store(id, artifact.encode(), label=self._labels.get(id, ""))

    def load(self, id: str, artifact: ClArtifact) -> LoadedProgram:
        """Loads its binaries on the devices; raises `LoadRefused`."""
        import pyopencl

        devices = list(self._devices)
        try:
            program = pyopencl._cl._Program(self._context, devices, list(artifact.binaries))
            program._build(artifact.options.encode(), devices)
        except pyopencl.Error as error:
            label = self._labels.get(id, "a kernel")
            raise LoadRefused(
                f"the device refused {label}: {error}", kernel=label, cause=error
            ) from error
        return LoadedProgram(program, artifact)
