"""Kernels of steered programs, which resolve their verdict at each launch.

One that is queued keeps the arguments and types that it is given until it is loaded. After it was
reached under the modes in force, a launch costs one comparison more than PyOpenCL's own.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import pyopencl

from gpurt_core.adapters.pyopencl.launch_checks import check_launch
from gpurt_core.adapters.pyopencl.programs import SteeredProgram, steered_behind
from gpurt_core.execution.modes import ModesInForce, published
from gpurt_core.servers.opencl.native import Kernel as PlainKernel

_SIZE_ONLY = ("pyopencl.array", "pyopencl.elementwise")
"""Modules that ask for a kernel's largest work-group only to size the launch that comes next."""


def drop_launch(
    plain: Any, queue: Any, global_size: Any, local_size: Any, keywords: Mapping[str, Any]
) -> Any:
    """An event in the place of a launch; raises what OpenCL would refuse, of a loaded kernel."""
    __tracebackhide__ = True
    if plain is not None:
        check_launch(plain, queue, global_size, local_size, keywords)
    return pyopencl.enqueue_marker(queue, keywords.get("wait_for"))


class _KernelType(type):
    """Has kernels of before the seam, and those it does not steer, count as kernels."""

    def __instancecheck__(cls, instance: object) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, PlainKernel)


class SteeredKernel(metaclass=_KernelType):
    """In the place of `pyopencl.Kernel`."""

    def __new__(cls, program: Any, name: str) -> Any:
        """A kernel of a program: a plain one where the program is not steered."""
        __tracebackhide__ = True
        is_program = isinstance(program, pyopencl.Program)
        steered = steered_behind(program) if is_program else None
        return PlainKernel(program, name) if steered is None else cls.of(steered, name)

    @classmethod
    def of(cls, program: SteeredProgram, name: str, plain: Any = None) -> SteeredKernel:
        """A kernel; raises PyOpenCL's error where the program is known to have none of the name."""
        __tracebackhide__ = True
        kernel = object.__new__(cls)
        kernel._program_behind = program
        kernel._name = name
        kernel._plain = plain
        kernel._settings = {}
        kernel._under = None
        if plain is None and (program.reach(None) or not program.declares(name)):
            kernel._load()
        return kernel

    _program_behind: SteeredProgram
    _name: str
    _plain: Any
    _settings: dict[tuple[str, object], tuple[Any, ...]]
    _under: ModesInForce | None

    # Launching

    def __call__(
        self, queue: Any, global_work_size: Any, local_work_size: Any, *args: Any, **keywords: Any
    ) -> Any:
        """Launches it, or does with it what the modes in force say."""
        __tracebackhide__ = True
        plain = self.reached(queue)
        if plain is None or self._program_behind.steering.verdict(queue).discards:
            if plain is not None:
                plain.set_args(*args)
            return drop_launch(plain, queue, global_work_size, local_work_size, keywords)
        return plain(queue, global_work_size, local_work_size, *args, **keywords)

    def reached(self, queue: Any) -> Any:
        """Queues or loads it, on the way to a launch; the plain kernel, `None` if it is queued."""
        __tracebackhide__ = True
        in_force = published.in_force
        if self._under is not in_force:
            if not self._program_behind.reach(queue):
                return None
            self._load()
            if not in_force.exceptions:
                self._under = in_force
        return self._plain

    # What is set

    def set_args(self, *args: Any) -> None:
        """Sets all arguments."""
        self._set("set_args", None, *args)

    def set_arg(self, index: int, arg: Any) -> None:
        """Sets one argument."""
        self._set("set_arg", index, index, arg)

    def set_arg_types(self, arg_types: Any) -> None:
        """Says what types the arguments have."""
        self._set("set_arg_types", None, tuple(arg_types))

    set_scalar_arg_dtypes = set_arg_types

    def _set(self, method: str, key: object, *args: Any) -> None:
        if self._plain is not None:
            getattr(self._plain, method)(*args)
        else:
            self._settings.pop((method, key), None)
            self._settings[method, key] = args

    # What is asked

    def get_work_group_info(self, param: Any, device: Any) -> Any:
        """What the compiler made of it."""
        __tracebackhide__ = True
        if self._plain is None and param == pyopencl.kernel_work_group_info.WORK_GROUP_SIZE:
            asking = sys._getframe(1).f_globals.get("__name__")
            if asking in _SIZE_ONLY and self._program_behind.steering.queues(None):
                return device.max_work_group_size
        return self._load().get_work_group_info(param, device)

    @property
    def function_name(self) -> str:
        """Its name."""
        return self._name

    def clone(self) -> SteeredKernel:
        """Another one, with the arguments that this one has by now."""
        return self.of(self._program_behind, self._name, self._load().clone())

    def capture_call(self, *args: Any, **keywords: Any) -> None:
        """Writes a launch down as a script."""
        from pyopencl.capture_call import capture_kernel_call

        self._load()
        capture_kernel_call(self, *args, **keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._load(), name)

    def _load(self) -> Any:
        """The plain kernel, with what was set on this one; raises PyOpenCL's error."""
        __tracebackhide__ = True
        program = self._program_behind.load()
        if self._plain is None:
            plain = PlainKernel(program, self._name)
            for (method, _key), args in self._settings.items():
                getattr(plain, method)(*args)
            self._plain, self._settings = plain, {}
        return self._plain

    def __repr__(self) -> str:
        return f"<steered {self._name!r} of PyOpenCL>"
