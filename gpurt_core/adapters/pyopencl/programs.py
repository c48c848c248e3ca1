"""Programs that are queued or loaded as the modes in force say: in the place of `Program.build`.

A program that is queued knows the kernels that its source declares. Whatever else is asked of it
builds it first, with the queue.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pyopencl

from gpurt_core.adapters.pyopencl.patches import Patches
from gpurt_core.adapters.pyopencl.steering import Steering
from gpurt_core.compilation import CompilationError, KernelLoader, LoadRefused
from gpurt_core.servers.opencl.keys import ClKernel
from gpurt_core.servers.opencl.target import LoadedProgram, program_of

ProgramLoader = KernelLoader[str, Any, Any, Any]
"""Loads a `LoadedProgram`, or what is like it."""

_DECLARED = re.compile(
    r"\b(?:__kernel|kernel)\b[^;{}]*?\bvoid\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?(\w+)\s*\("
)
_OPTION = re.compile(r'(?:[^\s"]|"[^"]*")+')
_LABEL_LENGTH = 60
_BEHIND = "_gpurt_steered"
"""The attribute of a `pyopencl.Program` that has what stands behind it."""


class SteeredProgram:
    """What stands behind a `pyopencl.Program` that was built under the seam."""

    def __init__(self, kernel: ClKernel, loader: ProgramLoader, steering: Steering) -> None:
        self.kernel = kernel
        self.steering = steering
        self._id = kernel.id
        self._loader = loader
        self._loaded: LoadedProgram | None = None
        self._program: Any = None
        self._declared = frozenset(declared_kernels(kernel.source))

    @property
    def log(self) -> str:
        """What the compiler said of it, once it is loaded and if nobody has been told."""
        return "" if self._loaded is None else self._loaded.log

    def declares(self, name: str) -> bool:
        """Whether the source has a kernel of this name, by the look of its text."""
        return name in self._declared

    def reach(self, queue: Any) -> bool:
        """Queues or loads it, as the modes in force say for a queue; whether it is loaded."""
        __tracebackhide__ = True
        if self.steering.queues(queue):
            self._loader.enqueue(self._id, self.kernel)
            return False
        self.load()
        return True

    def load(self) -> Any:
        """The program, built, in its own context; raises what PyOpenCL would raise."""
        __tracebackhide__ = True
        try:
            loaded = self._loader.load(self._id, self.kernel)
        except (CompilationError, LoadRefused) as error:
            if error.cause is None:
                raise
            raise _anew(error.cause) from None
        if loaded is not self._loaded:
            self._loaded = loaded
            self._program = self._in_own_context(loaded)
        return self._program

    def _in_own_context(self, loaded: LoadedProgram) -> Any:
        if self._program is not None:  # the same kernel, obtained again: what users have stays
            return self._program
        if loaded.context == self.kernel.context:
            return loaded.program
        return program_of(loaded.artifact, self.kernel.context, self.kernel.devices)


def _anew(cause: BaseException) -> BaseException:
    """A copy, which gathers no frames of those who raised it before."""
    return type(cause)(*cause.args)


def declared_kernels(source: bytes) -> list[str]:
    """The names of the kernels that a source declares, but for those that macros make."""
    return _DECLARED.findall(source.decode("utf-8", "replace"))


def label_of(source: bytes) -> str:
    """What people call a program: its kernels' names, in 60 characters at most."""
    text = ", ".join(dict.fromkeys(declared_kernels(source))) or "a program without kernels"
    return text if len(text) <= _LABEL_LENGTH else text[: _LABEL_LENGTH - 1] + "…"


def build_options(context: Any, options: str | Sequence[str] | None) -> tuple[str, ...]:
    """The options that PyOpenCL makes of those it was given."""
    joined, _include_path = pyopencl.Program._process_build_options(context, options)
    return tuple(_OPTION.findall(joined.decode()))


class ProgramMethods:
    """The methods of `pyopencl.Program` that are replaced, for one seam.

    A program that was not built from source, or not under the seam, goes the way it went.
    """

    def __init__(
        self, steer: Callable[..., SteeredProgram], make_kernel: Callable[..., Any]
    ) -> None:
        """`steer(program, options, devices, cache_dir)` gives what stands behind a program."""
        self._steer = steer
        self._make_kernel = make_kernel
        self._original: dict[str, Callable[..., Any]] = {}

    def put_in(self, patches: Patches) -> Callable[..., Any]:
        """Replaces them; the original `build`."""
        for ours in (self._build(), self._getter(), self._info(), self._kernels(), self._access()):
            name = ours.__name__
            self._original[name] = patches.replace(pyopencl.Program, name, ours)
        patches.replace(pyopencl.Program, "source", property(_source_of))
        return self._original["build"]

    def _build(self) -> Callable[..., Any]:
        def build(
            program: Any,
            options: str | Sequence[str] | None = None,
            devices: Sequence[Any] | None = None,
            cache_dir: str | None = None,
        ) -> Any:
            __tracebackhide__ = True
            if "_source" not in vars(program):
                return self._original["build"](program, options, devices, cache_dir)
            steered = self._steer(program, options, devices, cache_dir)
            if steered.reach(None) and steered.log:
                pyopencl.compiler_output(
                    f"From-source build succeeded, but resulted in non-empty logs:\n{steered.log}"
                )
            vars(program)[_BEHIND] = steered
            return program

        return build

    def _getter(self) -> Callable[..., Any]:
        def _get_prg(program: Any) -> Any:
            __tracebackhide__ = True
            steered = steered_behind(program)
            return self._original["_get_prg"](program) if steered is None else steered.load()

        return _get_prg

    def _info(self) -> Callable[..., Any]:
        def get_info(program: Any, arg: Any) -> Any:
            __tracebackhide__ = True
            steered = steered_behind(program)
            if steered is not None and arg == pyopencl.program_info.SOURCE:
                # One that came as a binary has no source; this one had.
                return steered.kernel.source.decode()
            return self._original["get_info"](program, arg)

        return get_info

    def _kernels(self) -> Callable[..., Any]:
        def all_kernels(program: Any) -> Any:
            __tracebackhide__ = True
            kernels = self._original["all_kernels"](program)
            steered = steered_behind(program)
            if steered is None:
                return kernels
            return [self._make_kernel(steered, k.function_name, k) for k in kernels]

        return all_kernels

    def _access(self) -> Callable[..., Any]:
        def __getattr__(program: Any, name: str) -> Any:
            __tracebackhide__ = True
            steered = steered_behind(program)
            if steered is None or name.startswith("__"):
                return self._original["__getattr__"](program, name)
            try:
                kernel = self._make_kernel(steered, name)
            except pyopencl.LogicError as error:
                raise AttributeError(
                    f"'{name}' was not found as a program info attribute or as a kernel name"
                ) from error
            _count_retrieval(program, name)
            return kernel

        return __getattr__


def steered_behind(program: Any) -> SteeredProgram | None:
    """What stands behind a `pyopencl.Program`; `None`: it is not steered."""
    steered: SteeredProgram | None = vars(program).get(_BEHIND)
    return steered


def _source_of(program: Any) -> Any:
    return program.get_info(pyopencl.program_info.SOURCE)


def _count_retrieval(program: Any, name: str) -> None:
    """Warns, as PyOpenCL does, of who makes a kernel anew again and again."""
    counts = vars(program).setdefault("_knl_retrieval_count", {})
    counts[name] = counts.get(name, 0) + 1
    category = getattr(pyopencl, "RepeatedKernelRetrieval", None)
    if counts[name] == 2 and category is not None:
        warnings.warn(
            f"Kernel '{name}' has been retrieved more than once. Each retrieval creates a new, "
            "independent kernel, at possibly considerable expense. To avoid the expense, reuse "
            "the retrieved kernel instance. To avoid this warning, use cl.Kernel(prg, name).",
            category,
            stacklevel=3,
        )
