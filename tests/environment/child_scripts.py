"""Starts scripts in processes of their own, with this project's packages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]

WRITE = """
import sys
from gpurt_core.environment import Environment
folder, name, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Environment.open(folder) as environment:
    for i in range(number):
        text = f"{name}-{i}".encode() * 100
        assert environment.store(f"{name}-{i}", text, label=name)
        assert environment.artifact(f"{name}-{i}") == text
        assert environment.store("shared", b"the same for all")
print("done")
"""
"""Stores so many artifacts under a name, and reads each."""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    """A script that runs; what it prints can be read."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(script: str, *arguments: object) -> list[str]:
    """The lines that a script printed; it must have ended well."""
    process = start(script, *arguments)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    return output.splitlines()


def kill(process: subprocess.Popen[str]) -> None:
    """Kills a script, as a machine does that runs out of memory."""
    process.kill()
    process.communicate()


def said_by_all(processes: Sequence[subprocess.Popen[str]]) -> list[str]:
    """What each printed, once all have ended."""
    return [process.communicate(timeout=90)[0] for process in processes]
