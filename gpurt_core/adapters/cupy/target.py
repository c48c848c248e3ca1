"""A CUDA device as a target of the kernel loader, with the environment behind it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpurt_core.adapters.cupy.artifact import CudaArtifact
from gpurt_core.compilation import ArtifactCompiler, ArtifactStore, LoadRefused


@dataclass(eq=False)
class LoadedModule:
    """A kernel that its device has loaded."""

    artifact: CudaArtifact
    module: Any
    """A `cupy.cuda.function.Module`."""

    def name_of(self, function: str) -> str:
        """What the module calls a function: name expressions have mangled names."""
        return self.artifact.names.get(function, function)


class CudaTarget:
    """One device.

    What the device has loaded stays loaded over generations, with the settings that users made on
    its functions: a kernel that is obtained anew and is the same bytes is the same module.
    """

    persists = True

    def __init__(
        self,
        compiler: ArtifactCompiler[str, Any, CudaArtifact],
        store: ArtifactStore,
        load_module: Callable[[str, CudaArtifact], Any],
        label_of: Callable[[str], str],
    ) -> None:
        """`load_module` makes a module of an artifact on this device, or raises CuPy's error."""
        self.compiler = compiler
        self._store = store
        self._load_module = load_module
        self._label_of = label_of
        self._on_device: dict[str, LoadedModule] = {}
        self._lock = threading.Lock()

    def stored(self, id: str) -> CudaArtifact | None:
        """What the environment has of it."""
        content = self._store.artifact(id)
        return None if content is None else CudaArtifact.decode(content)

    def stored_for_source(self, source: str) -> CudaArtifact | None:
        """Nothing: see `CudaCompiler.source`."""
        return None

    def store(self, id: str, artifact: CudaArtifact, source: str | None) -> bool:
        """Keeps it in the environment."""
        return self._store.store(id, artifact.encode(), label=self._label_of(id))

    def load(self, id: str, artifact: CudaArtifact) -> LoadedModule:
        """Loads it on the device; raises `LoadRefused`."""
        with self._lock:
            there = self._on_device.get(id)
        if there is not None and there.artifact.image == artifact.image:
            return there
        try:
            loaded = LoadedModule(artifact, self._load_module(id, artifact))
        except Exception as error:
            label = self._label_of(id)
            raise LoadRefused(
                f"the device refused {label}: {error}", kernel=label, cause=error
            ) from error
        with self._lock:
            self._on_device[id] = loaded
        return loaded
