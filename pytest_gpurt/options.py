"""The options of the plugin, on the command line and in the ini file, as one frozen object."""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import NamedTuple

import pytest

DEFAULT_ARCHITECTURE = "sm_90"
"""What is compiled for when nobody says: the data centre GPU that most continuous integration is
for. The header says so."""
DEFAULT_ENVIRONMENT = ".gpurt"
"""Below pytest's rootdir."""
DEFAULT_READ_LIMIT = 10_000
"""A test that reads the device back more often than that waits for values that never come. Real
tests read some hundred times; so many reads take a tenth of a second."""


class GpuMode(enum.Enum):
    """What the run is for."""

    COMPILE_ONLY = "compile-only"
    """Gather and compile kernels, on a machine without a GPU or with one."""
    AUTOTUNE = "autotune"
    """Measure tunes on the device; drop all other launches."""
    EXECUTE = "execute"
    """Run the tests."""


class GpuOptions(NamedTuple):  # which takes a tenth of a data class's time to make
    """What was asked for."""

    mode: GpuMode | None
    """`None`: only count."""
    architectures: tuple[str, ...]
    """One device of the null device each."""
    architectures_given: bool
    device: str | None
    """The address of the device that `gpu_device` is; `None`: the first that there is."""
    environment: Path
    environment_given: bool
    size_limit: int | None
    """How large the environment may grow (bytes)."""
    jobs: int | None
    """How many kernels compile at once; `None`: as many as there are CPUs to use."""
    report: Path | None
    """Where the JSON report goes."""
    read_limit: int
    """How often a test may read the device back in a pass that discards launches."""


_OPTIONS = (
    ("--gpu-mode", "MODE", "compile-only, autotune or execute. Not given: only count."),
    ("--gpu-arch", "ARCH", "architectures to compile for without a GPU: sm_90, or sm_80,sm_90."),
    ("--gpu-device", "ADDRESS", "what gpu_device is: cuda:0, opencl:0, or several, one a worker."),
    ("--gpu-environment", "DIR", "where compiled kernels are kept (default: .gpurt in rootdir)."),
    ("--gpu-jobs", "N", "how many kernels compile at once (default: the usable CPUs)."),
    ("--gpu-report", "FILE", "write a JSON report to FILE."),
)
_INI_ONLY = (
    ("gpu_read_limit", "how often a test may read the device back in a pass that drops launches"),
    ("gpu_environment_limit", "how large the environment may grow, such as 2GB"),
)


def add_options(parser: pytest.Parser) -> None:
    """Adds them to pytest's."""
    group = parser.getgroup("gpurt", "kernels: counting, compiling ahead, tuning")
    for flag, metavar, text in _OPTIONS:
        action = "append" if flag == "--gpu-arch" else "store"
        group.addoption(flag, action=action, default=None, metavar=metavar, help=text)
        parser.addini(_ini_name(flag), f"the same as {flag}", default=None)
    for name, text in _INI_ONLY:
        parser.addini(name, text, default=None)


def _ini_name(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")


def read_options(config: pytest.Config) -> GpuOptions:
    """What was asked for; raises `pytest.UsageError` for what makes no sense."""
    environment = _text(config, "--gpu-environment")
    architectures = _architectures(config)
    report = _text(config, "--gpu-report")
    jobs = _text(config, "--gpu-jobs")
    return GpuOptions(
        mode=_mode(_text(config, "--gpu-mode")),
        architectures=architectures or (DEFAULT_ARCHITECTURE,),
        architectures_given=bool(architectures),
        device=_text(config, "--gpu-device"),
        environment=_path(config, environment or DEFAULT_ENVIRONMENT),
        environment_given=environment is not None,
        size_limit=_size(_ini(config, "gpu_environment_limit")),
        jobs=None if jobs is None else _count("--gpu-jobs", jobs),
        report=None if report is None else Path(os.path.abspath(report)),
        read_limit=_count("gpu_read_limit", _ini(config, "gpu_read_limit") or DEFAULT_READ_LIMIT),
    )


def _text(config: pytest.Config, flag: str) -> str | None:
    given = getattr(config.known_args_namespace, _ini_name(flag), None)
    return _ini(config, _ini_name(flag)) if given is None else given


def _ini(config: pytest.Config, name: str) -> str | None:
    value = config.getini(name)
    return None if value is None or value == "" else str(value)


def _path(config: pytest.Config, path: str) -> Path:
    """A path of the command line is relative to where it was typed, others to rootdir."""
    typed = getattr(config.known_args_namespace, "gpu_environment", None) is not None
    return Path(os.path.abspath((Path.cwd() if typed else config.rootpath) / path))


def _architectures(config: pytest.Config) -> tuple[str, ...]:
    given = getattr(config.known_args_namespace, "gpu_arch", None)
    texts = given if given is not None else [_ini(config, "gpu_arch") or ""]
    names = [name for text in texts for name in text.replace(",", " ").split()]
    return tuple(names)


def _mode(text: str | None) -> GpuMode | None:
    if text is None:
        return None
    try:
        return GpuMode(text)
    except ValueError:
        known = ", ".join(mode.value for mode in GpuMode)
        raise pytest.UsageError(f"unknown --gpu-mode {text!r}: choose from {known}") from None


def _count(name: str, value: str | int) -> int:
    try:
        count = int(value)
    except ValueError:
        count = 0
    if count < 1:
        raise pytest.UsageError(f"{name} must be a whole number from 1, not {value!r}")
    return count


_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20}
_UNITS["GIB"] = 2**30


def _size(text: str | None) -> int | None:
    if text is None:
        return None
    number = text.strip().rstrip("BKMGIbkmgi ")
    unit = text.strip()[len(number) :].strip().upper()
    try:
        return int(float(number) * _UNITS[unit])
    except (ValueError, KeyError):
        raise pytest.UsageError(
            f"gpu_environment_limit must be a size such as 500MB or 2GB, not {text!r}"
        ) from None
