"""One run of the plugin: what its hooks share.

It begins before any conftest is read and ends when pytest is done. Nothing of CuPy is imported for
it; what needs CuPy is made when the suite imports that. Its parts are made when they are first
needed: a suite without GPU code needs one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from pytest_gpurt.frameworks import Frameworks
from pytest_gpurt.options import GpuMode, GpuOptions

if TYPE_CHECKING:
    from gpurt_core.environment import Environment
    from gpurt_core.execution import StatisticsCollector
    from gpurt_core.tune import Measurement
    from pytest_gpurt.accounting import Accounting
    from pytest_gpurt.children import Children
    from pytest_gpurt.devices import Devices
    from pytest_gpurt.kernels import KernelFailure, KernelJournal
    from pytest_gpurt.queue import KernelQueue
    from pytest_gpurt.results import RunResult


class GpuRun:
    """The state of a run."""

    def __init__(self, config: pytest.Config, options: GpuOptions) -> None:
        self.config = config
        self.options = options
        self.environment: Environment | None = None
        self.environment_before = 0
        """Kernels that the environment had when the run began."""
        self.frameworks = Frameworks(self)
        self.accounting: Accounting | None = None
        """`None` as long as nothing in the run has to do with kernels."""
        self.journal: KernelJournal | None = None
        self.tunes: list[Measurement] = []
        """What was measured, in order."""
        self.unhandled: list[KernelFailure] = []
        """Kernels that do not compile, and that no test has made anything of."""
        self.notes: list[str] = []
        """Lines for the summary: troubles of the environment."""
        self.current: pytest.Item | None = None
        """The running test."""
        self.collected = False
        """Whether collection is over."""
        self.finishing = False
        """Whether what is left is being compiled, and nobody has said to stop that."""
        self.always_eager = False
        """Whether every test that runs now compiles its kernels where they are asked for."""
        self.eager_tests: set[str] = set()
        """Tests that ran so: what they made of a kernel that does not compile is their result."""
        self.refusal: str | None = None
        """Why the run cannot go on, whatever a suite makes of an import that fails."""
        self._on_counting: list[Callable[[], object]] = []

    @cached_property
    def devices(self) -> Devices:
        """Servers that tests use."""
        from pytest_gpurt.devices import Devices

        return Devices(self)

    @cached_property
    def children(self) -> Children:
        """Child processes."""
        from pytest_gpurt.children import Children

        return Children(self)

    @cached_property
    def queue(self) -> KernelQueue:
        """What is gathered and not compiled yet."""
        from pytest_gpurt.queue import KernelQueue

        return KernelQueue(self)

    @cached_property
    def workers(self) -> RunResult:
        """What worker processes came to."""
        from pytest_gpurt.results import RunResult

        return RunResult()

    @property
    def has_counted(self) -> bool:
        """Whether anything in this process or its workers had to do with kernels."""
        return self.accounting is not None or (
            "workers" in vars(self) and bool(self.workers.entries)
        )

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
        from pytest_gpurt.results import result_of

        result = result_of(self)
        result.add(self.workers)
        return result

    # Beginning and end

    def begin(self) -> None:
        """Prepares what the mode asks for; raises `pytest.UsageError` where it cannot be."""
        if self.gathers:
            from pytest_gpurt.start import install_null_device

            names = install_null_device(self.config, self.options.architectures)
            self.options = self.options._replace(architectures=names)
        elif self.options.mode is not None:
            from pytest_gpurt.visible_devices import put_own_device_first

            put_own_device_first()
        if self.options.mode is not None:
            self.environment = self._open_environment()
            self.start_counting()
        self.frameworks.watch()

    def end(self) -> None:
        """Leaves CuPy and the process as they were, but for the null device."""
        self.frameworks.close()
        if "devices" in vars(self):
            self.devices.close()
        if self.accounting is not None:
            self.accounting.close()
        if self.environment is not None:
            self.environment.close()
        if self.accounting is not None:
            self.children.close()

    def once_counting(self, callback: Callable[[], object]) -> None:
        """Calls it when counting starts: now, if it has."""
        if self.accounting is None:
            self._on_counting.append(callback)
        else:
            callback()

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
            self.frameworks.watch_tuners()
            self.children.watch()
            callbacks, self._on_counting = self._on_counting, []
            for callback in callbacks:
                callback()
            if self.current is not None:  # in the middle of a test
                self.accounting.count_to_test(self.current.nodeid)
        return self.accounting

    def refuse(self, reason: str) -> NoReturn:
        """Ends the run, from within an import of the suite's."""
        self.refusal = reason
        pytest.exit(reason, returncode=pytest.ExitCode.USAGE_ERROR)

    def require_device(self) -> None:
        """In a mode that measures, raises `pytest.UsageError` where there is no device."""
        if self.options.mode is GpuMode.AUTOTUNE and not hasattr(self.config, "workerinput"):
            self.devices.require_any()

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

    @contextmanager
    def fresh_environment(self, folder: Path) -> Iterator[None]:
        """Kernels come from an empty environment for the length of a block."""
        from gpurt_core.environment import Environment

        if self.environment is None:
            yield from self._fresh_cache(folder)
            return
        with Environment.open(folder, warn=self.notes.append) as environment, ExitStack() as stack:
            if self.frameworks.cupy is not None:
                stack.enter_context(self.frameworks.cupy.another_store(environment))
            if (book := self.frameworks.book) is not None:
                book.switch(environment)
                stack.callback(book.switch, self.environment)
            yield
            stack.close()
            self.environment.take_over(environment)

    def _fresh_cache(self, folder: Path) -> Iterator[None]:
        """The same for a run that only counts: CuPy's own cache is empty."""
        from gpurt_core.adapters.cupy.cached import fresh_cache

        with fresh_cache(folder):
            self.frameworks.begin_generation()
            yield
        self.frameworks.begin_generation()

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


run_key = pytest.StashKey[GpuRun]()


def run_of(config: pytest.Config) -> GpuRun:
    """The run of a configuration."""
    return config.stash[run_key]
