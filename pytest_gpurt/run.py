"""One run of the plugin: what its hooks share.

It begins before any conftest is read and ends when pytest is done. Nothing of CuPy is imported for
it; what needs CuPy is made when the suite imports that.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from gpurt_core.adapters.cupy import early
from pytest_gpurt.devices import Devices
from pytest_gpurt.options import GpuMode, GpuOptions
from pytest_gpurt.results import RunResult, result_of

if TYPE_CHECKING:
    from gpurt_core.adapters.cupy.device_reads import DeviceReads
    from gpurt_core.adapters.cupy.null_device import ChildNotes, NullDevice, ReadMonitor
    from gpurt_core.adapters.cupy.optimizing import OptimizingSeam
    from gpurt_core.adapters.cupy.seam import CupySeam
    from gpurt_core.adapters.pyopencl import PyOpenCLSeam
    from gpurt_core.environment import Environment, QueuedEntry
    from gpurt_core.execution import StatisticsCollector
    from gpurt_core.tune import Measurement, PickBook
    from pytest_gpurt.accounting import Accounting
    from pytest_gpurt.kernels import KernelFailure, KernelJournal

_OPENCL = "pyopencl"
_TUNING = "gpurt_core.tune.book"
SEAM_MODULE = "cupy.cuda.compiler"

_COMPILER_BYTES = 600 * 2**20
"""What a process that compiles takes when it keeps the headers of CUB, the largest there are. 470
MB were seen."""
_FLUSH_SECONDS = 2.0
"""How old what was gathered gets before it is written down: what a killed run loses."""


class GpuRun:
    """The state of a run."""

    def __init__(self, config: pytest.Config, options: GpuOptions) -> None:
        self.config = config
        self.options = options
        self.environment: Environment | None = None
        self.environment_before = 0
        """Kernels that the environment had when the run began."""
        self.devices = Devices(self)
        self.tunes: list[Measurement] = []
        """What was measured, in order."""
        self._optimizing: OptimizingSeam | None = None
        self._device_reads: DeviceReads | None = None
        self.accounting: Accounting | None = None
        """`None` as long as nothing in the run has to do with kernels."""
        self.journal: KernelJournal | None = None
        self.seam: CupySeam | None = None
        self.null_device: NullDevice | None = None
        self.read_monitors: list[ReadMonitor] = []
        """Where reading back is seen; none where it means what it says."""
        self.opencl: PyOpenCLSeam | None = None
        self.batch_seconds = 0.0
        """Wall-clock time spent on compiling in batches."""
        self.unhandled: list[KernelFailure] = []
        """Kernels that do not compile, and that no test has made anything of."""
        self.left = 0
        """Kernels that were gathered, and are left for the next run."""
        self.workers = RunResult()
        """What worker processes came to."""
        self.notes: list[str] = []
        """Lines for the summary: troubles of the environment."""
        self.children: ChildNotes | None = None
        """What child processes did on null devices of theirs."""
        self._notes_folder: tempfile.TemporaryDirectory[str] | None = None
        self.current: pytest.Item | None = None
        """The running test."""
        self.collected = False
        """Whether collection is over."""
        self.always_eager = False
        """Whether every test that runs now compiles its kernels where they are asked for."""
        self.eager_tests: set[str] = set()
        """Tests that ran so: what they made of a kernel that does not compile is their result."""
        self._flushed = time.monotonic()

    @property
    def gathers(self) -> bool:
        """Whether launches are dropped and kernels queued."""
        return self.options.mode is GpuMode.COMPILE_ONLY

    @property
    def discards(self) -> bool:
        """Whether launches are dropped, so that what is read back means nothing."""
        return self.options.mode in (GpuMode.COMPILE_ONLY, GpuMode.AUTOTUNE)

    @property
    def unstored(self) -> int:
        """Compiled kernels that the environment could not keep."""
        return 0 if self.environment is None else self.environment.health().refused

    @property
    def result(self) -> RunResult:
        """What this process and its workers came to."""
        result = result_of(self)
        result.add(self.workers)
        return result

    # Beginning and end

    def begin(self) -> None:
        """Prepares what the mode asks for; raises `pytest.UsageError` where it cannot be."""
        if self.gathers:
            from pytest_gpurt.start import install_null_device

            install_null_device(self.config, self.options.architectures)
        if self.options.mode is not None:
            self.environment = self._open_environment()
            self.start_counting()
        early.when_imported(SEAM_MODULE, self._install_seam)
        early.when_imported(_OPENCL, self._install_opencl)

    def end(self) -> None:
        """Leaves CuPy and the process as they were, but for the null device."""
        early.forget(SEAM_MODULE, self._install_seam)
        early.forget(_OPENCL, self._install_opencl)
        early.forget(_TUNING, self._keep_picks)
        if self.opencl is not None:
            self.opencl.abandon_queued()
            self.opencl.uninstall()
        self.devices.close()
        if self._optimizing is not None:
            self._optimizing.uninstall()
        if self._device_reads is not None:
            self._device_reads.uninstall()
        if (book := self._book) is not None:
            book.switch(None)
            book.on_measured = None
        if self.seam is not None:
            self.seam.abandon_queued()
            self.seam.uninstall()
        if self.accounting is not None:
            self.accounting.close()
        if self.environment is not None:
            self.environment.close()
        if self._notes_folder is not None:
            self._notes_folder.cleanup()

    def start_counting(self) -> Accounting:
        """Starts counting, if it has not been."""
        if self.accounting is None:
            from gpurt_core.execution import ProcessMode
            from pytest_gpurt.accounting import Accounting
            from pytest_gpurt.kernels import KernelJournal

            modes = {
                GpuMode.COMPILE_ONLY: ProcessMode.COMPILE_ONLY,
                GpuMode.AUTOTUNE: ProcessMode.COMPILE_AND_AUTOTUNE,
            }
            chosen = self.options.mode and modes.get(self.options.mode)
            self.journal = KernelJournal()
            self.accounting = Accounting(chosen or ProcessMode.EXECUTE)
            self.accounting.open()
            early.when_imported(_TUNING, self._keep_picks)
        return self.accounting

    def require_device(self) -> None:
        """In a mode that measures, raises `pytest.UsageError` where there is no device."""
        if self.options.mode is GpuMode.AUTOTUNE and not hasattr(self.config, "workerinput"):
            self.devices.require_any()

    def _keep_picks(self, module: ModuleType) -> None:
        """Tuners have just been imported: their picks are kept in the environment."""
        module.process_book.switch(self.environment)
        module.process_book.on_measured = self.tunes.append

    def _open_environment(self) -> Environment:
        from gpurt_core.environment import Environment
        from gpurt_core.errors import EnvironmentUnavailable

        try:
            environment = Environment.open(
                self.options.environment,
                size_limit=self.options.size_limit,
                must_write=self.gathers,
                warn=self.notes.append,
            )
        except EnvironmentUnavailable as error:
            raise pytest.UsageError(str(error)) from None
        self.environment_before = environment.health().artifacts
        return environment

    def _install_seam(self, module: ModuleType) -> None:
        """CuPy has just been imported."""
        from gpurt_core.adapters.cupy.null_device import NullDevice
        from gpurt_core.adapters.cupy.optimizing import OptimizingSeam
        from gpurt_core.adapters.cupy.seam import CupySeam
        from gpurt_core.errors import UnsupportedCuPy

        self.start_counting()
        self.null_device = NullDevice.current() if self.gathers else None
        seam = CupySeam(
            self.environment,
            null_device=self.null_device,
            parallelism=self.options.jobs or _parallelism(),
            observer=self.journal,
            claims=self.environment,
            processes=int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")),
        )
        try:
            seam.install(module)
        except UnsupportedCuPy as error:
            if self.options.mode is None:
                return  # a run that did not ask for anything goes on without counting
            pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
        self.seam = seam
        self._optimizing = OptimizingSeam()
        self._optimizing.install()
        seam.eager = self._compiles_at_once
        if self.null_device is not None:
            self.read_monitors.append(self.null_device.reads)
            self._announce_notes()
        elif self.discards:
            from gpurt_core.adapters.cupy.device_reads import DeviceReads

            self._device_reads = DeviceReads()
            self._device_reads.install()
            self.read_monitors.append(self._device_reads.monitor)
        if self.null_device is not None:
            self._check_compiler(module)

    def _install_opencl(self, module: ModuleType) -> None:
        """PyOpenCL has just been imported."""
        from gpurt_core.adapters.pyopencl import PyOpenCLSeam

        self.start_counting()
        jobs = self.options.jobs
        self.opencl = PyOpenCLSeam.install(self.environment, jobs, self.devices.settled)
        self.opencl.eager = self._compiles_at_once
        if self.discards:
            self.read_monitors.append(self.opencl.reads)

    @property
    def _compiles_at_once(self) -> bool:
        """Until collection is over: what an import catches is real. And in the middle of a test
        that runs eagerly, if it is the first to import a framework."""
        running = self.current is not None and self.current.nodeid in self.eager_tests
        return self.gathers and (running or not self.collected)

    def _announce_notes(self) -> None:
        """Has child processes tell what they read back, and miss."""
        from gpurt_core.adapters.cupy.null_device import ChildNotes

        self._notes_folder = tempfile.TemporaryDirectory(prefix="gpurt-children-")
        self.children = ChildNotes(Path(self._notes_folder.name))
        self.children.announce()

    def _check_compiler(self, module: ModuleType) -> None:
        """Ends the run where the installed NVRTC does not know an architecture."""
        for name in dict.fromkeys(self.options.architectures):
            try:
                module._preprocess("", (), name.removeprefix("sm_"), "nvrtc")
            except module.CompileException:
                version = ".".join(map(str, module._get_nvrtc_version()))
                reason = f"NVRTC {version}, which is installed, does not compile for {name}"
                pytest.exit(f"--gpu-arch: {reason}", returncode=pytest.ExitCode.USAGE_ERROR)
            except Exception as error:
                why = str(error).splitlines()[0]
                pytest.exit(
                    f"NVRTC, the compiler of CUDA, cannot be used: {why}; "
                    "pip install 'pytest-gpurt[cuda13]' brings it",
                    returncode=pytest.ExitCode.USAGE_ERROR,
                )

    # The queue

    def compile_queued(self) -> None:
        """Compiles what is queued, and takes the time."""
        began = time.perf_counter()
        try:
            self.devices.compile_queued()
            if self.opencl is not None:
                self.opencl.compile_queued()
            if self.seam is None or not self.seam.queued_count:
                return
            self._longest_first(self.seam)
            self.seam.compile_queued()
        finally:
            self.batch_seconds += time.perf_counter() - began
            self.flush(force=True)

    def _longest_first(self, seam: CupySeam) -> None:
        """A kernel that takes long, begun last, would keep all others waiting."""
        if self.environment is None:
            return
        ids = seam.queued_ids()
        known = self.environment.expected_seconds(ids, [seam.label_of(id) for id in ids])
        if known:
            seam.prioritise(known, sum(known.values()) / len(known))

    def flush(self, *, force: bool = False) -> None:
        """Writes down what was gathered and not compiled yet, so that a killed run leaves it."""
        if self.environment is None or self.journal is None or self.seam is None:
            return
        if not force and time.monotonic() - self._flushed < _FLUSH_SECONDS:
            return
        self._flushed = time.monotonic()
        from gpurt_core.adapters.cupy.payload import encode_kernel
        from gpurt_core.environment import QueuedEntry

        ids, self.journal.unflushed = self.journal.unflushed, []
        waiting = [id for id in ids if id not in self.journal.settled_ids]
        kernels = self.seam.kernels
        self.environment.queue(
            [QueuedEntry(id, encode_kernel(kernels[id]), kernels[id].label) for id in waiting]
        )
        self._record()
        settled, self.journal.newly_settled = self.journal.newly_settled, []
        self.environment.dequeue(settled)

    def _record(self) -> None:
        """Notes how long each kernel took: the next run begins with the longest."""
        assert self.journal is not None
        assert self.environment is not None
        from gpurt_core.environment import CompilationRecord
        from gpurt_core.execution import KernelOutcome

        reports, self.journal.unrecorded = self.journal.unrecorded, []
        records = [
            CompilationRecord(
                id=report.id,
                label=report.label,
                seconds=report.seconds,
                outcome=report.outcome.value,
                arch=report.arch,
                compiler=report.parts.get("compiler", ""),
                log=report.log,
                at=time.time(),
            )
            for report in reports
            if report.outcome in (KernelOutcome.COMPILED, KernelOutcome.FAILED)
        ]
        self.environment.record_compilations(records)

    def environment_queue(self, entries: Sequence[QueuedEntry]) -> None:
        """Queues kernels that others have written down; what is of no use here is taken off."""
        from gpurt_core.adapters.cupy.payload import decode_kernel

        assert self.seam is not None
        assert self.environment is not None
        for entry in entries:
            kernel = decode_kernel(entry.payload)
            if kernel is None or not self.seam.restore(entry.id, kernel):
                self.environment.dequeue([entry.id])

    def run_eagerly(self, item: pytest.Item) -> None:
        """For the length of this test, kernels are compiled where they are asked for."""
        self.eager_tests.add(item.nodeid)
        if self.seam is not None:
            self.seam.eager = True
            self.seam.forget_memos()
        if self.opencl is not None:
            self.opencl.eager = True

    def run_lazily(self) -> None:
        """From here on kernels are queued again."""
        for seam in (self.seam, self.opencl):
            if seam is not None and seam.eager:
                seam.eager = False

    # Statistics

    def settle(self) -> None:
        """What is queued gets its outcome, so that counts are true."""
        self.compile_queued()

    def begin_generation(self) -> None:
        """Each kernel is obtained again when it is next reached."""
        if self.seam is not None:
            self.seam.begin_generation()
        if self.opencl is not None:
            self.opencl.begin_generation()
        if self._optimizing is not None:
            self._optimizing.begin_generation()
        self.devices.begin_generation()
        if (book := self._book) is not None:
            book.begin_generation()

    @property
    def _book(self) -> PickBook | None:
        """The picks of this process, if anything tunes."""
        module = sys.modules.get(_TUNING)
        return None if module is None else module.process_book

    @contextmanager
    def fresh_environment(self, folder: Path) -> Iterator[None]:
        """Kernels come from an empty environment for the length of a block."""
        from gpurt_core.environment import Environment

        if self.environment is None:
            yield from self._fresh_cache(folder)
            return
        with Environment.open(folder, warn=self.notes.append) as environment, ExitStack() as stack:
            if self.seam is not None:
                stack.enter_context(self.seam.another_store(environment))
            if (book := self._book) is not None:
                book.switch(environment)
                stack.callback(book.switch, self.environment)
            yield
            stack.close()
            self.environment.take_over(environment)

    def _fresh_cache(self, folder: Path) -> Iterator[None]:
        """The same for a run that only counts: CuPy's own cache is empty."""
        from gpurt_core.adapters.cupy.cached import fresh_cache

        with fresh_cache(folder):
            self.begin_generation()
            yield
        self.begin_generation()

    def parts_kept(self, label: str) -> list[dict[str, str]]:
        """What the ids of the kernels of this name in the environment were made of."""
        from gpurt_core.adapters.cupy.artifact import CudaArtifact

        if self.environment is None:
            return []
        kept = []
        for id in self.environment.known(label):
            content = self.environment.artifact(id)
            artifact = None if content is None else CudaArtifact.decode(content)
            if artifact is not None:
                kept.append(dict(artifact.parts))
        return kept

    def attempt_of(self, item: pytest.Item) -> StatisticsCollector:
        """The collector of the running attempt of a test."""
        accounting = self.start_counting()
        entry = accounting.entries.get(item.nodeid)
        return entry.attempts[-1] if entry else accounting.count_to_test(item.nodeid)


def _parallelism() -> int:
    """As many compiles at once as there are CPUs, and memory for, in all workers together."""
    from gpurt_core.adapters.cupy.null_device.guard import host_memory
    from gpurt_core.compilation import usable_cpus

    available, _ = host_memory()
    return max(1, min(usable_cpus(), available // _COMPILER_BYTES))


run_key = pytest.StashKey[GpuRun]()


def run_of(config: pytest.Config) -> GpuRun:
    """The run of a configuration."""
    return config.stash[run_key]
