"""Every error of the runtime core, in one tree.

    GpurtError
    ├── OverrideConflict            another process mode or collector is open
    ├── CompilationError            a compiler refused a kernel
    ├── LoadRefused                 a device refused an artifact
    ├── EnvironmentUnavailable      an environment cannot be opened or written
    ├── UnknownArchitecture         an architecture that no profile or compiler knows
    ├── UnsupportedCuPy             a CuPy that the adapter was not made for
    ├── NullDeviceUnavailable       the null device cannot be installed here
    └── NotOnNullDevice             something that has no stand-in without a GPU

Each carries its data as attributes and says, in one line, what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class GpurtError(Exception):
    """The root of the tree."""


class OverrideConflict(GpurtError, RuntimeError):
    """A process mode override of another mode or another collector is open."""


class CompilationError(GpurtError):
    """A compiler refused a kernel.

    `kernel` names it, `log` is what the compiler printed, and `cause` is the error that the
    framework itself would have raised, where there is one.
    """

    def __init__(
        self,
        message: str,
        *,
        kernel: str | None = None,
        log: str | None = None,
        cause: BaseException | None = None,
    ) -> None:
        super().__init__(message)
        self.kernel = kernel
        self.log = log
        self.cause = cause


class LoadRefused(GpurtError):
    """A device refused an artifact: a wrong architecture, a damaged image.

    `kernel` names it; `cause` is the error of the framework, where there is one.
    """

    def __init__(
        self, message: str, *, kernel: str | None = None, cause: BaseException | None = None
    ) -> None:
        super().__init__(message)
        self.kernel = kernel
        self.cause = cause


class EnvironmentUnavailable(GpurtError):
    """The environment at `path` cannot be opened or written, for `reason`."""

    def __init__(self, path: Path, reason: str, remedy: str) -> None:
        super().__init__(f"environment {path}: {reason}; {remedy}")
        self.path = path
        self.reason = reason
        self.remedy = remedy


class UnknownArchitecture(GpurtError, ValueError):
    """`name` is no architecture that can be compiled for; `known` are."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"unknown architecture {name!r}: choose from {', '.join(known)}")
        self.name = name
        self.known = tuple(known)


class UnsupportedCuPy(GpurtError, RuntimeError):
    """The installed CuPy, `version`, is not one that the adapter supports."""

    def __init__(self, version: str, supported: str) -> None:
        super().__init__(
            f"CuPy {version} is not supported: pytest-gpurt needs CuPy {supported}; "
            "install one of these, or run without --gpu-mode (and with -p no:gpurt)"
        )
        self.version = version
        self.supported = supported


class NullDeviceUnavailable(GpurtError, RuntimeError):
    """The null device cannot be installed in this process, for `reason`."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the null device cannot be installed: {reason}")
        self.reason = reason


class NotOnNullDevice(GpurtError, RuntimeError):
    """`feature` needs a GPU; `remedy` says what to do without one."""

    def __init__(self, feature: str, remedy: str) -> None:
        super().__init__(f"{feature} does not work on the null device: {remedy}")
        self.feature = feature
        self.remedy = remedy
