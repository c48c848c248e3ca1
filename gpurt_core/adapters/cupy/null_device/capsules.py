"""Replacing the functions that a module of CuPy offers to CuPy's other compiled modules.

A Cython module keeps its C functions in `__pyx_capi__`: one capsule each, whose name is the C
signature. Another module takes the pointers out when it is imported, and never looks again. So a
replacement is a capsule of the very same name with another pointer in it, put there in time; and
the Python attribute of the same name, for those who call it from Python.

What is replaced may raise: see `shim`. What CuPy declares as the error value of a function is not
part of the signature; `_ERROR_VALUES` has those that differ from the usual ones.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from gpurt_core.adapters.cupy.null_device import shim
from gpurt_core.adapters.cupy.null_device.shim import Constant, Guarded, OneCall, Result, Stub

Function = Callable[..., Any]


class _OptionalArgument(ctypes.Structure):
    """What Cython passes for arguments with defaults. All that CuPy has are one 32-bit integer."""

    _fields_ = (("given", ctypes.c_int), ("value", ctypes.c_int))


_INTEGERS: dict[str, Any] = {
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "intptr_t": ctypes.c_ssize_t,
    "uintmax_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "CUdevice": ctypes.c_int,
    "cudaMemcpyKind": ctypes.c_int,
}
"""The integer types in the signatures of CuPy, and what `ctypes` calls them."""

_ERROR_VALUES = {"funcGetAttribute": -2, "streamGetPriority": 0, "streamGetFlags": 0}
"""The `except? value` of CuPy's declarations, where it is not that of `_usual_error_value`."""

_STRUCTURES = ("cudaChannelFormatDesc", "cudaResourceDesc", "cudaTextureDesc")
"""Results that are longer than two registers, so that they travel through a hidden pointer."""


@dataclass(frozen=True)
class Signature:
    """A C signature, as a capsule is named."""

    result: str
    arguments: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Reads `PyObject *(intptr_t, int __pyx_skip_dispatch)`."""
        result, _, rest = text.partition("(")
        arguments = [part.strip() for part in rest.rstrip(")").split(",")]
        return cls(result.strip(), tuple(a for a in arguments if a != "void"))

    @property
    def has_optional(self) -> bool:
        return bool(self.arguments) and self.arguments[-1].endswith("*__pyx_optional_args")

    @property
    def returns_object(self) -> bool:
        return _is_object(self.result)


def _is_object(name: str) -> bool:
    return name == "PyObject *" or name.startswith("struct __pyx_obj_")


def capsule_name(capsule: object) -> str:
    """The C signature that a capsule carries as its name."""
    name: bytes = _get_name(capsule)
    return name.decode()


class UnknownSignature(TypeError):
    """A function of CuPy has a type that is not known here."""


# --- exceptions, kept from the callback until the raiser runs -------------------------------------

_kept = threading.local()


def _keep(error: BaseException) -> None:
    _kept.error = error


def _raise_kept(kept: threading.local = _kept) -> None:
    """What the machine code calls after an error value. Without a kept exception it was a value.

    `kept` is its own: at the interpreter's end modules have been emptied.
    """
    error = kept.__dict__.pop("error", None)
    if error is None:
        return
    try:
        raise error.with_traceback(None)
    finally:
        del error  # the traceback would hold this frame, and the frame the exception


_FAILED = object()
"""What a callback returns as a Python object to say that it kept an exception."""


# --- callbacks ------------------------------------------------------------------------------------


def _callback(name: str, signature: Signature, function: Function) -> tuple[Any, Guarded]:
    """The `ctypes` callback of `function`, and the stub that goes around it."""
    types = list(_argument_types(signature))
    if signature.result in _STRUCTURES:
        return _structure_callback(types, signature, function)
    if signature.returns_object:
        prototype = ctypes.PYFUNCTYPE(ctypes.py_object, *types)
        entry, error, result = _guard(function, signature, _FAILED, None), id(_FAILED), Result.LONG
    elif signature.result == "float":
        prototype = ctypes.PYFUNCTYPE(ctypes.c_float, *types)
        entry, error, result = _guard(function, signature, 0.0, 0.0), 0, Result.FLOAT
    else:
        integer = _integer(signature.result)
        error = _ERROR_VALUES.get(name, _usual_error_value(signature.result))
        prototype = ctypes.PYFUNCTYPE(integer, *types)
        entry = _guard(function, signature, error, 0)
        result = Result.LONG if ctypes.sizeof(integer) == 8 else Result.WORD
    callback = prototype(entry)
    returned = 0 if signature.returns_object else error
    return callback, Guarded(_address(callback), len(types), result, error, returned)


def _structure_callback(
    types: list[Any], signature: Signature, function: Function
) -> tuple[Any, Guarded]:
    """`function` returns the bytes of the structure."""

    def fill(target: int, *arguments: int) -> int:
        content = function(*arguments)
        ctypes.memmove(target, content, len(content))
        return target

    prototype = ctypes.PYFUNCTYPE(ctypes.c_size_t, ctypes.c_size_t, *types)
    callback = prototype(_guard(fill, signature, 0, 0))
    return callback, Guarded(_address(callback), 1 + len(types), Result.HIDDEN, 0, 0)


def _guard(function: Function, signature: Signature, failed: object, nothing: object) -> Function:
    """`function`, with its exceptions kept, after which `failed` is returned.

    At the interpreter's end arrays are freed after modules have been emptied, `builtins` too: then
    `function` does what it still can, and `nothing` is returned. So all names used here are its
    own."""
    keep, is_finalizing, everything = _keep, sys.is_finalizing, BaseException

    def entry(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except everything as error:
            if is_finalizing():
                return nothing
            keep(error)
            return failed

    def entry_with_optional(*arguments: Any) -> Any:
        *plain, _skip_dispatch, optional = arguments
        if optional and optional[0].given > 0:
            plain.append(optional[0].value)
        return entry(*plain)

    return entry_with_optional if signature.has_optional else entry


def _argument_types(signature: Signature) -> Iterator[Any]:
    """Without a last `__pyx_skip_dispatch`: a callee may ignore its last arguments."""
    arguments = signature.arguments
    if arguments and arguments[-1].endswith("__pyx_skip_dispatch"):
        arguments = arguments[:-1]
    for argument in arguments:
        if argument.endswith("*__pyx_optional_args"):
            yield ctypes.POINTER(_OptionalArgument)
        elif _is_object(argument):
            yield ctypes.py_object
        else:
            yield _integer(argument.removesuffix(" __pyx_skip_dispatch"))


def _integer(name: str) -> Any:
    try:
        return _INTEGERS[name]
    except KeyError:
        raise UnknownSignature(f"a C type that is not known here: {name!r}") from None


def _usual_error_value(result: str) -> int:
    """0 for handles and addresses, -1 for numbers."""
    return 0 if result in ("intptr_t", "uintmax_t") else -1


def _address(callback: object) -> int:
    return ctypes.cast(callback, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


# --- capsules -------------------------------------------------------------------------------------

_get_name = ctypes.pythonapi.PyCapsule_GetName
_get_name.restype = ctypes.c_char_p
_get_name.argtypes = [ctypes.py_object]
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]

_immortal: list[object] = []
"""Callbacks, and the names that capsules point to: used until the process ends."""


def functions_of(module: ModuleType) -> dict[str, object]:
    """The capsules of a module by name; one that offers nothing to C has none."""
    capsules: dict[str, object] = getattr(module, "__pyx_capi__", {})
    return capsules


def replace_functions(
    module: ModuleType,
    functions: Mapping[str, Function],
    native: Mapping[str, Constant | OneCall],
    blind: Collection[str] = (),
) -> None:
    """Puts `functions` in the place of those of `module`, for C callers and for Python ones.

    A function that `native` names, too, is called from Python only; C callers get the native one.
    One that `blind` names is called without arguments for C callers: theirs may be of any types.
    One that `module` does not offer to C is replaced for Python.
    """
    capsules = functions_of(module)
    names = [name for name in functions if name in capsules]
    stubs: list[Stub] = []
    for name in names:
        if name in native:
            stubs.append(native[name])
            continue
        signature = Signature.parse(capsule_name(capsules[name]))
        if name in blind:
            signature = replace(signature, arguments=())
        callback, stub = _callback(name, signature, functions[name])
        _keep_for_ever(callback)
        stubs.append(stub)
    for name, address in zip(names, shim.publish(stubs, _raise_kept), strict=True):
        capsules[name] = _capsule(address, capsule_name(capsules[name]))
    for name, function in functions.items():
        if hasattr(module, name):
            setattr(module, name, function)


def _capsule(address: int, name: str) -> object:
    text = ctypes.create_string_buffer(name.encode())
    _keep_for_ever(text)
    return _new_capsule(address, ctypes.addressof(text), None)


def _keep_for_ever(thing: object) -> None:
    """Modules are emptied at the interpreter's end, and CuPy calls even then."""
    _immortal.append(thing)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


_keep_for_ever(_FAILED)
