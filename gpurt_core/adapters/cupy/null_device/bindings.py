"""Bindings of CUDA's libraries that do nothing: cuBLAS, cuSOLVER, cuSPARSE, cuRAND.

Their handles are plain numbers, which the libraries must never see: so every function of a binding
is replaced, but for those that take no handle. What one returns, its signature tells: numbers are
0, so that workspaces are empty, and outputs are left as they were.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gpurt_core.adapters.cupy.null_device import binding_checks, capsules, host_results
from gpurt_core.adapters.cupy.null_device.shim import Constant, none_stub
from gpurt_core.adapters.cupy.null_device.sparse_sizes import SparseSizes

INERT = ("cublas", "cusolver", "cusparse", "curand")

_KEPT = frozenset(
    {"check_status", "getVersion", "_getVersion", "_getVersionNumber", "getProperty"}
    | {"get_build_version", "is_cuda_python_build"}
)
"""Functions that need no handle, but for `getVersion` of those in `_VERSION_STEPS`."""

_VERSION_STEPS = {"cublas": (10000, 100, 1), "cusparse": (1000, 100, 1)}
"""What major, minor and patch count for in `getVersion(handle)`: CUBLAS_VERSION, CUSPARSE_VERSION.
cuRAND's takes no handle, cuSOLVER has none."""

_MAY_RAISE = frozenset({"PyObject *", "int", "size_t", "intptr_t"})
"""Results of C functions beside which an exception can be told."""

_HANDLE = 0x6E75_6C6C_0001
"""Every handle that compiled code of CuPy makes: nobody looks at it. Others differ."""

_handles = itertools.count(_HANDLE + 1)

Function = Callable[..., Any]


def make_inert(binding: ModuleType) -> None:
    """Puts functions that do nothing in the place of those of `binding`."""
    library = binding.__name__.rpartition(".")[2]
    functions: dict[str, Function] = {}
    results: dict[str, str] = {}
    for name, thing in list(vars(binding).items()):
        is_function = callable(thing) and not isinstance(thing, type)
        if is_function and not name.startswith("__") and name not in _KEPT:
            functions[name] = _inert(name, _result(thing))
    for name, capsule in capsules.functions_of(binding).items():
        if name not in _KEPT:
            results[name] = capsules.Signature.parse(capsules.capsule_name(capsule)).result
            functions.setdefault(name, _inert(name, results[name]))
    if library in _VERSION_STEPS:
        functions["getVersion"] = lambda handle: _version(library)
    if library == "cusparse":
        functions |= SparseSizes(_handles, host_results.record_read).functions()
    _add_host_results(library, functions)
    checked = _add_checks(library, functions)
    for name, function in functions.items():
        with contextlib.suppress(AttributeError):  # a method has a name of its own
            function.__name__ = name  # CuPy puts it into messages
    reached = {name for name in checked if results.get(name) in _MAY_RAISE}
    native = {n: _constant(n, result) for n, result in results.items() if n not in reached}
    capsules.replace_functions(binding, functions, native, blind=reached)


def _add_host_results(library: str, functions: dict[str, Function]) -> None:
    for name, function in list(functions.items()):
        result = host_results.host_result(library, name)
        if result is not None:
            functions[name] = host_results.writing(result, function)


def _add_checks(library: str, functions: dict[str, Function]) -> set[str]:
    """Has functions refuse what CuPy refuses; the names of those that look at the stream."""
    if library not in INERT:
        return set()
    for name in [name for name in functions if library == "curand" and "Normal" in name]:
        functions[name] = binding_checks.even_only(name, functions[name])
    checked = {name for name in functions if binding_checks.checks_capture(library, name)}
    for name in checked:
        functions[name] = binding_checks.without_capture(library, functions[name])
    return checked


@functools.cache
def _version(library: str) -> int:
    """As the library itself says: its properties need no handle, and no device."""
    from cuda import pathfinder

    loaded = ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib(library).abs_path)
    version = 0
    for number, step in enumerate(_VERSION_STEPS[library]):
        part = ctypes.c_int()
        getattr(loaded, f"{library}GetProperty")(number, ctypes.byref(part))
        version += part.value * step
    return version


def _makes_handle(name: str) -> bool:
    return name.startswith(("create", "spCreate")) or "_create" in name


def _result(function: object) -> str:
    """The C type of a result. Cython writes it into the docstring: `f(int n) -> size_t`."""
    return (getattr(function, "__doc__", None) or "").partition("\n")[0].rpartition("->")[2].strip()


def _inert(name: str, result: str) -> Function:
    if _makes_handle(name):
        return lambda *_arguments, **_keywords: next(_handles)
    answer = _nothing(result)
    return lambda *_arguments, **_keywords: answer


def _nothing(result: str) -> Any:
    """0 for a number, several for a tuple of numbers, None for all else."""
    if result.startswith("("):
        return tuple(_nothing(part.strip()) for part in result.strip("() ").split(","))
    if result in ("float", "double"):
        return 0.0
    return 0 if result in ("int", "size_t", "intptr_t", "int64_t") else None


def _constant(name: str, result: str) -> Constant:
    if result == "PyObject *":
        return none_stub()
    return Constant(_HANDLE if _makes_handle(name) else 0)
