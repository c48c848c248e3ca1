"""What child processes did on their null devices: each leaves a note when it ends.

A child that reads back, and fails on what it read, makes its parent fail, which has read nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "GPURT_CHILD_NOTES"
"""The folder for notes, and whose children are to leave them: `1234:/tmp/...`."""


@dataclass(frozen=True)
class ChildNote:
    """What a child did."""

    reads: int
    absences: tuple[str, ...]
    """See `NullDevice.absences`."""


class ChildNotes:
    """The notes of this process's children."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: set[str] = set()

    def announce(self) -> None:
        """Has children that start from now on leave notes."""
        os.environ[VARIABLE] = f"{os.getpid()}:{self._folder}"

    def new(self) -> list[ChildNote]:
        """The notes that were left since this was last asked."""
        notes = []
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(self._folder)):
                if name.endswith(".json") and name not in self._seen:
                    self._seen.add(name)
                    content = json.loads((self._folder / name).read_text())
                    notes.append(ChildNote(content["reads"], tuple(content["absences"])))
        return notes


def leave_note_at_exit() -> None:
    """In a process that a parent wants a note of: leaves it when the process ends."""
    owner, _, folder = os.environ.get(VARIABLE, "").partition(":")
    if folder and owner != str(os.getpid()):
        atexit.register(_leave_note, Path(folder))


def _leave_note(folder: Path) -> None:
    from gpurt_core.adapters.cupy.null_device.device import NullDevice

    device = NullDevice.current()
    if device is None or not (device.reads.count or device.absences):
        return
    name = f"{os.getpid()}-{time.time_ns()}"
    content = json.dumps({"reads": device.reads.count, "absences": list(device.absences)})
    with contextlib.suppress(OSError):
        (folder / name).write_text(content)
        os.replace(folder / name, folder / f"{name}.json")
