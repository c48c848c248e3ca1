"""The frameworks that a suite uses, and the seams that count and steer them.

Nothing is imported for them: each gets its seam when the suite imports it.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from gpurt_core.adapters.cupy import early

if TYPE_CHECKING:
    from gpurt_core.adapters.cupy.device_reads import DeviceReads
    from gpurt_core.adapters.cupy.null_device import NullDevice
    from gpurt_core.adapters.cupy.optimizing import OptimizingSeam
    from gpurt_core.adapters.cupy.seam import CupySeam
    from gpurt_core.adapters.pyopencl import PyOpenCLSeam
    from gpurt_core.execution import ReadMonitor
    from gpurt_core.tune import PickBook
    from pytest_gpurt.run import GpuRun

_CUPY = "cupy.cuda.compiler"
_OPENCL = "pyopencl"
_TUNING = "gpurt_core.tune.book"

_COMPILER_BYTES = 600 * 2**20
"""What a process that compiles takes when it keeps the headers of CUB, the largest there are. 470
MB were seen."""


class Frameworks:
    """What this process has imported of CuPy, PyOpenCL and tuners."""

    def __init__(self, run: GpuRun) -> None:
        self._run = run
        self.cupy: CupySeam | None = None
        self.opencl: PyOpenCLSeam | None = None
        self.null_device: NullDevice | None = None
        self.read_monitors: list[ReadMonitor] = []
        """Where reading back is seen; none where it means what it says."""
        self._optimizing: OptimizingSeam | None = None
        self._device_reads: DeviceReads | None = None

    def watch(self) -> None:
        """From here on, what is imported gets its seam."""
        early.when_imported(_CUPY, self._install_cupy)
        early.when_imported(_OPENCL, self._install_opencl)

    def watch_tuners(self) -> None:
        """From here on, tuners keep their picks in the environment."""
        early.when_imported(_TUNING, self._keep_picks)

    def close(self) -> None:
        """Leaves the frameworks as they were, but for the null device."""
        early.forget(_CUPY, self._install_cupy)
        early.forget(_OPENCL, self._install_opencl)
        early.forget(_TUNING, self._keep_picks)
        if self.opencl is not None:
            self.opencl.abandon_queued()
            self.opencl.uninstall()
        if self._optimizing is not None:
            self._optimizing.uninstall()
        if self._device_reads is not None:
            self._device_reads.uninstall()
        if (book := self.book) is not None:
            book.switch(None)
            book.on_measured = None
        if self.cupy is not None:
            self.cupy.abandon_queued()
            self.cupy.uninstall()

    def begin_generation(self) -> None:
        """Each kernel is obtained again when it is next reached."""
        if self.cupy is not None:
            self.cupy.begin_generation()
        if self.opencl is not None:
            self.opencl.begin_generation()
        if self._optimizing is not None:
            self._optimizing.begin_generation()
        self._run.devices.begin_generation()
        if (book := self.book) is not None:
            book.begin_generation()

    def run_eagerly(self, item: pytest.Item) -> None:
        """For the length of this test, kernels are compiled where they are asked for."""
        self._run.eager_tests.add(item.nodeid)
        if self.cupy is not None:
            self.cupy.eager = True
            self.cupy.forget_memos()
        if self.opencl is not None:
            self.opencl.eager = True

    def run_lazily(self) -> None:
        """From here on kernels are queued again."""
        for seam in (self.cupy, self.opencl):
            if seam is not None and seam.eager:
                seam.eager = False

    @property
    def book(self) -> PickBook | None:
        """The picks of this process, if anything tunes."""
        module = sys.modules.get(_TUNING)
        return None if module is None else module.process_book

    def _keep_picks(self, module: ModuleType) -> None:
        """Tuners have just been imported."""
        module.process_book.switch(self._run.environment)
        module.process_book.on_measured = self._run.tunes.append

    def _install_opencl(self, module: ModuleType) -> None:
        """PyOpenCL has just been imported."""
        from gpurt_core.adapters.pyopencl import PyOpenCLSeam

        run = self._run
        run.start_counting()
        self.opencl = PyOpenCLSeam.install(
            run.environment, run.options.jobs, run.devices.settled, run.environment
        )
        self.opencl.eager = self._compiles_at_once
        if run.discards:
            self.read_monitors.append(self.opencl.reads)

    def _install_cupy(self, module: ModuleType) -> None:
        """CuPy has just been imported."""
        from gpurt_core.adapters.cupy.null_device import NullDevice
        from gpurt_core.adapters.cupy.optimizing import OptimizingSeam
        from gpurt_core.adapters.cupy.seam import CupySeam
        from gpurt_core.errors import UnsupportedCuPy

        run = self._run
        run.start_counting()
        self.null_device = NullDevice.current() if run.gathers else None
        seam = CupySeam(
            run.environment,
            null_device=self.null_device,
            parallelism=run.options.jobs or _parallelism(),
            observer=run.journal,
            claims=run.environment,
            processes=int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")),
        )
        try:
            seam.install(module)
        except UnsupportedCuPy as error:
            if run.options.mode is None:
                return  # a run that did not ask for anything goes on without counting
            run.refuse(str(error))
        self.cupy = seam
        self._optimizing = OptimizingSeam()
        self._optimizing.install()
        seam.eager = self._compiles_at_once
        if self.null_device is not None:
            self.read_monitors.append(self.null_device.reads)
            self._check_compiler(module)
        elif run.discards:
            from gpurt_core.adapters.cupy.device_reads import DeviceReads

            self._device_reads = DeviceReads()
            self._device_reads.install()
            self.read_monitors.append(self._device_reads.monitor)

    @property
    def _compiles_at_once(self) -> bool:
        """Until collection is over: what an import catches is real. And in the middle of a test
        that runs eagerly, if it is the first to import a framework."""
        run = self._run
        running = run.current is not None and run.current.nodeid in run.eager_tests
        return run.gathers and (running or not run.collected)

    def _check_compiler(self, module: ModuleType) -> None:
        """Ends the run where the installed NVRTC does not know an architecture."""
        for name in dict.fromkeys(self._run.options.architectures):
            try:
                module._preprocess("", (), name.removeprefix("sm_"), "nvrtc")
            except module.CompileException:
                version = ".".join(map(str, module._get_nvrtc_version()))
                reason = f"NVRTC {version}, which is installed, does not compile for {name}"
                self._run.refuse(f"--gpu-arch: {reason}")
            except Exception as error:
                why = str(error).splitlines()[0]
                self._run.refuse(
                    f"NVRTC, the compiler of CUDA, cannot be used: {why}; "
                    "pip install 'pytest-gpurt[cuda13]' brings it"
                )


def _parallelism() -> int:
    """As many compiles at once as there are CPUs, and memory for, in all workers together."""
    from gpurt_core.compilation import usable_cpus
    from gpurt_core.execution import host_memory

    available, _ = host_memory()
    return max(1, min(usable_cpus(), available // _COMPILER_BYTES))
