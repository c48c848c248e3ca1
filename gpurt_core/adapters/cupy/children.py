"""Child processes: what they count, read back and miss, told to the process that wants to know.

Each child keeps a note in a folder, and what it counts goes there as it happens: it may end without
being asked. A forked child goes on with what its parent had. One that is an interpreter of its own
joins its parent's environment when it imports CuPy: its kernels come from there, and stay there.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpurt_core.adapters.cupy.observer import KernelReport, SeamObserver
from gpurt_core.execution import (
    AutotuneStatistics,
    CompilationStatistics,
    ExecutionStatistics,
    ProcessMode,
)

if TYPE_CHECKING:
    from gpurt_core.adapters.cupy.null_device import NullDevice

VARIABLE = "GPURT_CHILDREN"
"""What an interpreter that starts is to know of its parent, as JSON: see `ChildNotes.announcement`.
"""
_WORKER = "PYTEST_XDIST_WORKER"
"""Set in processes that run tests for the one that started them: those count by themselves."""


@dataclass(frozen=True)
class ChildNote:
    """What a child has done."""

    reads: int = 0
    """How often it has read device memory back, where that means nothing."""
    absences: tuple[str, ...] = ()
    """See `NullDevice.absences`."""
    statistics: ExecutionStatistics = field(default_factory=ExecutionStatistics)


class ChildNotes:
    """The notes of this process's children, in a folder that the first child makes."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.gettempdir()) / f"gpurt-children-{uuid.uuid4().hex}"
        self._heard: dict[str, ChildNote] = {}

    def announcement(self, environment: Path | None, mode: ProcessMode) -> dict[str, str]:
        """Variables for children that are interpreters of their own."""
        said = {
            "owner": os.getpid(),
            "folder": str(self._folder),
            "environment": None if environment is None else str(environment),
            "mode": mode.value,
            "worker": os.environ.get(_WORKER),
        }
        return {VARIABLE: json.dumps(said)}

    def writer(self, statistics: Callable[[], ExecutionStatistics]) -> NoteWriter:
        """In a forked child: keeps its note. What it had done before is its parent's."""
        writer = NoteWriter(self._folder, statistics)
        writer.forget_what_was()
        return writer

    def new(self) -> list[ChildNote]:
        """What has come since this was last asked: reads and absences are those since then."""
        notes = []
        for name, note in self._all().items():
            before = self._heard.get(name, ChildNote())
            self._heard[name] = note
            new = ChildNote(
                note.reads - before.reads,
                note.absences[len(before.absences) :],
                note.statistics - before.statistics,
            )
            if new != ChildNote():
                notes.append(new)
        return notes

    def statistics(self) -> ExecutionStatistics:
        """What all children have counted up to now."""
        total = ExecutionStatistics()
        for note in self._all().values():
            total += note.statistics
        return total

    def clear(self) -> None:
        """Removes the notes."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _all(self) -> dict[str, ChildNote]:
        notes = {}
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(self._folder)):
                if name.endswith(".json"):
                    notes[name] = _read(self._folder / name)
        return notes


class NoteWriter:
    """The note of this process."""

    def __init__(self, folder: Path, statistics: Callable[[], ExecutionStatistics]) -> None:
        self._folder = folder
        self._name = f"{os.getpid()}-{time.time_ns()}"
        self._statistics = statistics
        self._before = ExecutionStatistics()
        self._reads_before = self._absences_before = 0
        if (device := _null_device()) is not None:
            device.reads.on_next = self.write

    def forget_what_was(self) -> None:
        """From here on, what is done counts."""
        self._before = self._statistics()
        if (device := _null_device()) is not None:
            self._reads_before = device.reads.count
            self._absences_before = len(device.absences)

    def write(self) -> None:
        """Brings the note up to date."""
        device = _null_device()
        counted = self._statistics() - self._before
        reads = 0 if device is None else device.reads.count - self._reads_before
        absences = () if device is None else device.absences[self._absences_before :]
        if not (reads or absences or counted != ExecutionStatistics()):
            return
        content = {"reads": reads, "absences": list(absences), "statistics": asdict(counted)}
        beside = self._folder / self._name
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            beside.write_text(json.dumps(content))
            os.replace(beside, beside.with_suffix(".json"))

    def write_at_exit(self) -> None:
        """Also when the process ends, as Python ends it or as multiprocessing does."""
        atexit.register(self.write)
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            util.Finalize(None, self.write, exitpriority=0)


def join_parent(module: Any) -> None:
    """In an interpreter whose parent has announced itself, which has just imported `module`,
    `cupy.cuda.compiler`: counts, and shares the parent's environment."""
    said = _announced()
    if said is None:
        return
    from gpurt_core.adapters.cupy.seam import CupySeam
    from gpurt_core.environment import Environment
    from gpurt_core.errors import GpurtError
    from gpurt_core.execution import ProcessModeOverride, StatisticsCollector

    collector = StatisticsCollector("children")
    writer = NoteWriter(Path(said["folder"]), collector.statistics)
    writer.write_at_exit()
    try:
        environment = Environment.open(Path(said["environment"]), warn=lambda text: None)
        seam = CupySeam(
            environment,
            null_device=_null_device(),
            observer=_Telling(writer.write),
            claims=environment,
        )
        seam.install(module)
    except GpurtError:  # then CuPy obtains its kernels by itself
        return
    seam.eager = True  # nobody would compile what it queues
    ProcessModeOverride(ProcessMode(said["mode"]), collector).open()
    atexit.register(seam.uninstall)


class _Telling(SeamObserver):
    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write

    def settled(self, report: KernelReport) -> None:
        """Told at once: the process may be ended at any moment."""
        self._write()


def _announced() -> Mapping[str, Any] | None:
    """What the parent has said to this process; `None`: nothing."""
    try:
        said: Mapping[str, Any] = json.loads(os.environ.get(VARIABLE, ""))
        mine = said["owner"] == os.getpid() or said["worker"] != os.environ.get(_WORKER)
        return None if mine or said["environment"] is None else said
    except (KeyError, TypeError, ValueError):
        return None


def _null_device() -> NullDevice | None:
    from gpurt_core.adapters.cupy.null_device import NullDevice

    return NullDevice.current()


def _read(path: Path) -> ChildNote:
    content = json.loads(path.read_text())
    counts: Mapping[str, Mapping[str, int]] = content["statistics"]
    absences: Sequence[str] = content["absences"]
    return ChildNote(
        content["reads"],
        tuple(absences),
        ExecutionStatistics(
            CompilationStatistics(**counts["compilation"]),
            AutotuneStatistics(**counts["autotune"]),
        ),
    )
