"""The seam in PyOpenCL: programs, kernels, launches and reads, steered and seen.

It works at any time, also on PyOpenCL that has been in use; kernels that were made before run, or
are dropped, as the modes in force say, and count nowhere. With an environment programs come from
there, without one from PyOpenCL's own cache.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import pyopencl
import pyopencl.tools

from gpurt_core.adapters.pyopencl.kernels import SteeredKernel
from gpurt_core.adapters.pyopencl.launches import let_probes_run, steer_launches
from gpurt_core.adapters.pyopencl.patches import Patches
from gpurt_core.adapters.pyopencl.plain import PlainTarget, with_build
from gpurt_core.adapters.pyopencl.programs import (
    ProgramLoader,
    ProgramMethods,
    SteeredProgram,
    build_options,
    label_of,
)
from gpurt_core.adapters.pyopencl.reads import watch_reads
from gpurt_core.adapters.pyopencl.steering import Steering
from gpurt_core.compilation import (
    ArtifactStore,
    ClaimSource,
    KernelEvent,
    LoaderGroup,
    open_loader,
)
from gpurt_core.execution import ReadMonitor, ServiceStream
from gpurt_core.execution.overrides import republish
from gpurt_core.servers.opencl import pocl, pyopencl_folder
from gpurt_core.servers.opencl.devices import teach
from gpurt_core.servers.opencl.keys import ClKernel, make_kernel
from gpurt_core.servers.opencl.target import ClTarget


class PyOpenCLSeam(LoaderGroup):
    """The seam of this process; made by `install`."""

    _current: PyOpenCLSeam | None = None

    def __init__(
        self,
        environment: ArtifactStore | None,
        parallelism: int | None,
        on_settled: Callable[[KernelEvent], object] | None,
        claims: ClaimSource | None,
    ) -> None:
        self.reads = ReadMonitor()
        """Counts what is read back."""
        self._environment = environment
        self._parallelism = parallelism
        self._on_settled = on_settled
        self._claims = claims
        self._steering = Steering()
        self._patches = Patches()
        self._loaders: dict[tuple[Any, ...], ProgramLoader] = {}
        self._targets: dict[tuple[Any, ...], ClTarget] = {}
        """Those that are kept in the environment."""
        self._original_build: Callable[..., Any] = pyopencl.Program.build
        self._lock = threading.RLock()

    @classmethod
    def install(
        cls,
        environment: ArtifactStore | None = None,
        parallelism: int | None = None,
        on_settled: Callable[[KernelEvent], object] | None = None,
        claims: ClaimSource | None = None,
    ) -> Self:
        """Puts the seam into PyOpenCL, which it imports; raises `RuntimeError` if one is in.

        `parallelism` is how many programs compile at once, and `on_settled` is told of each as it
        settles; `claims` say who compiles what, of processes that share the environment. Early is
        best: PoCL's folder is settled only before the first use of OpenCL.
        """
        if PyOpenCLSeam._current is not None:
            raise RuntimeError("a seam is installed in PyOpenCL already: uninstall it first")
        pocl.settle()
        pyopencl_folder.settle()
        seam = cls(environment, parallelism, on_settled, claims)
        seam._put_in()
        PyOpenCLSeam._current = seam
        return seam

    def uninstall(self) -> None:
        """Takes it out. Programs and kernels that were made under it stay steered."""
        self._patches.remove()
        if PyOpenCLSeam._current is self:
            PyOpenCLSeam._current = None

    def _put_in(self) -> None:
        methods = ProgramMethods(self._steer, SteeredKernel.of)
        self._original_build = methods.put_in(self._patches)
        self._patches.replace(pyopencl, "Kernel", SteeredKernel)
        steer_launches(self._patches, self._steering)
        let_probes_run(self._patches, self._steering, self.reads)
        watch_reads(self._patches, self.reads)

    # What it tells and is told

    @property
    def eager(self) -> bool:
        """Whether programs are built where they are asked for, though launches are dropped."""
        return self._steering.eager

    @eager.setter
    def eager(self, value: bool) -> None:
        self._steering.eager = value
        republish()  # so that kernels that were reached before look again

    def stream(self, queue: Any) -> ServiceStream:
        """The stream that a `pyopencl.CommandQueue` is: what a `StreamModeOverride` names."""
        return self._steering.stream(queue)

    def loaders(self) -> list[ProgramLoader]:
        """One for each set of devices that programs are for."""
        return list(self._loaders.values())

    def forget_memos(self) -> None:
        """Has PyOpenCL ask again for the programs that it keeps for each context."""
        if PyOpenCLSeam._current is self:
            pyopencl.tools.clear_first_arg_caches()

    # Steering a program

    def _steer(
        self,
        program: Any,
        options: str | Sequence[str] | None,
        devices: Sequence[Any] | None,
        cache_dir: str | None,
    ) -> SteeredProgram:
        context, source = program._context, program._source
        targets = tuple(context.devices if devices is None else devices)
        teach(targets)
        text = source.encode() if isinstance(source, str) else source
        kernel = make_kernel(
            text, build_options(context, options), context, targets, label_of(text)
        )
        if self._environment is None:
            build = partial(self._build_plainly, context, source, options, devices, cache_dir)
            kernel = with_build(kernel, build)
        return SteeredProgram(kernel, self._loader(kernel), self._steering)

    def _loader(self, kernel: ClKernel) -> ProgramLoader:
        """The loader for the devices of a kernel, which expects it."""
        with self._lock:
            loader = self._loaders.get(kernel.devices)
            if loader is None:
                loader = self._loaders[kernel.devices] = self._new_loader(kernel.devices)
        if (target := self._targets.get(kernel.devices)) is not None:
            target.expect(kernel.id, kernel)
        return loader

    def _new_loader(self, devices: tuple[Any, ...]) -> ProgramLoader:
        target: Any
        if self._environment is None:
            target, claims = PlainTarget(), None
        else:
            target = self._targets[devices] = ClTarget(self._environment)
            claims = self._claims
        return open_loader(
            target, claims=claims, parallelism=self._parallelism, on_settled=self._on_settled
        )

    def _build_plainly(
        self, context: Any, source: Any, options: Any, devices: Any, cache_dir: Any
    ) -> tuple[Any, bool]:
        program = pyopencl.Program(context, source)
        self._original_build(program, options, devices, cache_dir)
        how = program._build_duration_info
        return program._prg, bool(how and how[1])
