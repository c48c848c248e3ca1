"""Every error of the runtime core, in one tree.

    GpurtError
    ├── OverrideConflict            another process mode or collector is open
    ├── CompilationError            a compiler refused a kernel
    ├── LoadRefused                 a device refused an artifact
    ├── EnvironmentUnavailable      an environment cannot be opened or written
    ├── UnknownArchitecture         an architecture that no profile or compiler knows
    ├── UnsupportedCuPy             a CuPy that the adapter was not made for
    ├── NullDeviceUnavailable       the null device cannot be installed here
    ├── NotOnNullDevice             something that has no stand-in without a GPU
    ├── BadAddress                  a text that is no address of a device
    ├── NoDevice                    there is no such device, or none at all
    ├── KernelLanguageMissing       a kernel is not written in the language of its server
    ├── LaunchFailed                a launch was refused, or failed on its device
    ├── ServerClosed                a server that was closed, or belongs to another process
    ├── Rejected                    a candidate that does not suit the work it is given
    ├── BadTunableSet               candidates that cannot be tuned as they are
    ├── BadTuneKey                  a tune key that does not encode to JSON
    ├── TuneRecursion               a candidate that asks its tuner for the key it is measured for
    └── TuneTimeout                 a candidate that does not end

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


class BadAddress(GpurtError, ValueError):
    """`address` is no address of a device."""

    def __init__(self, address: str, remedy: str) -> None:
        super().__init__(f"{address!r} is no address of a device: {remedy}")
        self.address = address


class NoDevice(GpurtError, RuntimeError):
    """There is no device at `address` (`None`: anywhere), for `reasons`, one for each thing tried.

    A reason says what was tried, why it has no such device, and what to do.
    """

    def __init__(self, address: str | None, reasons: Sequence[str]) -> None:
        what = "no device" if address is None else f"no device {address}"
        super().__init__(f"{what}: {'; '.join(reasons) or 'there is no backend'}")
        self.address = address
        self.reasons = tuple(reasons)


class KernelLanguageMissing(GpurtError, ValueError):
    """`kernel` is written in the languages `written`, of which `language` is none."""

    def __init__(self, kernel: str, language: str, written: Sequence[str]) -> None:
        has = f"only in {' and '.join(written)}" if written else "in no language"
        super().__init__(
            f"kernel {kernel!r} is written {has}: give Kernel({kernel!r}, {language}=...) its "
            f"source to launch it on this device"
        )
        self.kernel = kernel
        self.language = language
        self.written = tuple(written)


class LaunchFailed(GpurtError, RuntimeError):
    """`launch` of `kernel` failed on the device `server`.

    `grid` and `block` are its sizes. `refused` says that it never began, so that the device and all
    arrays are as they were: its kernel did not compile or load, or its sizes or arguments do not
    suit it. `cause` is the error behind it; `others` are launches that failed after it, and that
    are reported with it.
    """

    def __init__(
        self,
        launch: str,
        server: str,
        cause: BaseException,
        *,
        kernel: str,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        refused: bool,
    ) -> None:
        what = "was refused" if refused else "failed"
        is_plain = isinstance(cause, GpurtError | ValueError)
        reason = f"{cause}" if is_plain else f"{type(cause).__name__}: {cause}"
        super().__init__(f"{launch} {what} on {server}: {reason}")
        self.launch = launch
        self.server = server
        self.cause = cause
        self.kernel = kernel
        self.grid = grid
        self.block = block
        self.refused = refused
        self.others: tuple[LaunchFailed, ...] = ()
        self.__cause__ = cause


class ServerClosed(GpurtError, RuntimeError):
    """`server` cannot be used, for `reason`."""

    def __init__(self, server: str, reason: str) -> None:
        super().__init__(f"server {server} {reason}: connect another one")
        self.server = server
        self.reason = reason


class Rejected(GpurtError):
    """A candidate does not suit the work it is given: raise it from the candidate.

    The candidate is out for this key, at once and for good; the others are measured.
    """


class BadTunableSet(GpurtError, ValueError):
    """A tunable set, or one of its candidates, that cannot be tuned as it is."""


class BadTuneKey(GpurtError, TypeError):
    """`key` does not encode to JSON, for `reason`."""

    def __init__(self, key: object, reason: str) -> None:
        super().__init__(
            f"tune key {key!r} does not encode to JSON: {reason}; "
            "make it of numbers, texts, booleans, None, tuples, lists and dicts of text"
        )
        self.key = key
        self.reason = reason


class TuneRecursion(GpurtError, RuntimeError):
    """A candidate of `tuner` asked for the very `key` (JSON) that it is tried for."""

    def __init__(self, tuner: str, key: str) -> None:
        super().__init__(
            f"tuner {tuner!r} was asked for key {key} inside a candidate for that key: "
            "call the work itself there, or make it another key"
        )
        self.tuner = tuner
        self.key = key


class TuneTimeout(GpurtError, RuntimeError):
    """`candidate` of `tuner`, for `key` (JSON), did not end within `seconds`.

    It cannot be stopped in its process. Nothing was stored, and nothing else is measured on its
    device until it ends.
    """

    def __init__(self, tuner: str, key: str, candidate: str, seconds: float) -> None:
        super().__init__(
            f"candidate {candidate!r} of tuner {tuner!r} did not end within {seconds:g} s for key "
            f"{key}: repair or remove it, or let Tuner(limits=TuneLimits(hung_seconds=...)) be more"
        )
        self.tuner = tuner
        self.key = key
        self.candidate = candidate
        self.seconds = seconds
