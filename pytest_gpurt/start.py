"""Getting the null device under CuPy before anything imports CuPy, pytest included.

In most runs nothing has, and an import hook is enough. Where pytest's own configuration names one
of CuPy's classes, pytest has imported CuPy before any plugin could act: then the process starts
itself anew, once, with the null device installed at its very start. The variables that do this are
inherited: workers and other child processes have the null device, too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import pytest

_MARK = "GPURT_NULL_DEVICE"


def install_null_device(config: pytest.Config, architectures: Sequence[str]) -> tuple[str, ...]:
    """Sees to it that CuPy has null devices of these architectures in this process and its
    children; raises `pytest.UsageError` where it cannot. What they are called in full."""
    from gpurt_core.adapters.cupy.early import EarlyInstaller, startup_environment
    from gpurt_core.adapters.cupy.null_device import profile_for
    from gpurt_core.errors import NullDeviceUnavailable, UnknownArchitecture

    try:
        profiles = [profile_for(name) for name in architectures]
        environment = startup_environment(profiles, os.environ)
        EarlyInstaller(profiles)
    except UnknownArchitecture as error:
        raise pytest.UsageError(f"--gpu-arch: {error}") from None
    except NullDeviceUnavailable as error:
        if "cupy" not in sys.modules:
            raise pytest.UsageError(str(error)) from None
        _start_anew(config, environment)
    os.environ.update(environment)
    return tuple(profile.architecture for profile in profiles)


def _start_anew(config: pytest.Config, environment: dict[str, str]) -> None:
    if not _is_command_line(config) or os.environ.get(_MARK) == environment[_MARK]:
        raise pytest.UsageError(
            "CuPy was imported before pytest started, so that --gpu-mode=compile-only comes too "
            "late: run pytest as a command of its own (not from Python), or before the import"
        )
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def _is_command_line(config: pytest.Config) -> bool:
    """Whether this process is `pytest ...` or `python -m pytest ...`, and no worker of one."""
    program = os.path.basename(sys.argv[0])
    if program == "__main__.py":
        program = os.path.basename(os.path.dirname(sys.argv[0]))
    mine = list(config.invocation_params.args) == sys.argv[1:]
    return mine and program in ("pytest", "py.test") and "PYTEST_XDIST_WORKER" not in os.environ
