"""Scripts that need a fresh interpreter: CuPy can be put on the null device once per process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

Script = Callable[..., str]

PRELUDE = """
from gpurt_core.adapters.cupy.null_device import NullDevice, profile_for
device = NullDevice.install([profile_for(name) for name in {names!r}])
import numpy, pytest
import cupy
from cupy.cuda import driver, runtime
"""


@pytest.fixture
def run_python(tmp_path: Path) -> Script:
    """`run_python(script, environment)` runs a script by itself; what it printed."""

    def run(script: str, environment: dict[str, str] | None = None) -> str:
        base = {**os.environ, "CUPY_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
        base.pop("GPURT_NULL_DEVICE", None)
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
            env={**base, **(environment or {})},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        assert done.stderr == "", done.stderr
        return done.stdout

    return run


@pytest.fixture
def on_null_device(run_python: Script) -> Script:
    """The same, with CuPy on null devices: `cupy`, `runtime`, `driver`, `device` are there."""

    def run(
        script: str,
        *names: str,
        environment: dict[str, str] | None = None,
        before: str = "",
        after: str = "",
    ) -> str:
        prelude = PRELUDE.format(names=names or ("sm_80",))
        parts = [prelude, before, textwrap.dedent(script), textwrap.dedent(after)]
        return run_python("\n".join(parts), environment)

    return run
