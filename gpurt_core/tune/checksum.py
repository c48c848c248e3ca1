"""A checksum of what candidates do: picks of other candidates are measured again.

Covered: names and order; the instructions of each function and its defaults (not its text:
comments, formatting, docstrings, and names of its own do not matter; another minor version of
Python does); what it refers to as a global, in its closure, or by `functools.partial`, if that is
a number, a text, `None`, a member of an enumeration, a tuple or frozen dataclass of these, another
function of the same package, or one of CuPy's kernels; and texts given as `sources`. In texts that
look like C, comments and spacing do not matter.

Not covered: what is reached through attributes of modules and of other objects, lists and dicts,
functions of other packages and compiled ones (of these the name), and variables that the function
itself assigns. What of these decides the speed belongs in the key or in `sources`.
"""

from __future__ import annotations

import dataclasses
import dis
import enum
import functools
import hashlib
import re
from collections.abc import Iterator, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

_FORMAT = "1"
"""Grows when picks are to be measured anew. Part of the checksum: picks of other versions stay."""

Described = Sequence[Sequence[tuple[str, Any, Sequence[str]]]]
"""Groups of candidates: each a name, a function and texts."""


def checksum_of(groups: Described) -> str:
    """The checksum (32 hexadecimal digits) of groups of candidates."""
    described = [
        [
            (name, _Reader(function).text(), [plain(text) for text in texts])
            for name, function, texts in group
        ]
        for group in groups
    ]
    return hashlib.blake2b(repr((_FORMAT, described)).encode(), digest_size=16).hexdigest()


_TEXTS_OF_KERNELS = ("code", "operation", "preamble", "map_expr", "reduce_expr", "post_map_expr")
"""Attributes of `cupy.RawKernel`, `RawModule`, `ElementwiseKernel` and `ReductionKernel`."""

_LIKE_C = re.compile(r"[;{]")
_C_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.DOTALL
)


def plain(source: str) -> str:
    """A text of C without comments and without spacing that means nothing."""
    bare = _C_TOKEN.sub(lambda token: token.group(1) or " ", source)
    lines = (" ".join(line.split()) for line in bare.splitlines())
    return "\n".join(line for line in lines if line)


class _Reader:
    """Describes one function with what it refers to, each function once."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._package = _package(function)
        self._seen: dict[int, int] = {}

    def text(self) -> str:
        """The description: the same in every process."""
        return repr(self._value(self._function))

    def _value(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float, complex, bytes)):
            return (type(value).__name__, repr(value))
        if isinstance(value, str):
            return ("str", plain(value) if _LIKE_C.search(value) else value)
        if isinstance(value, tuple):
            return ("tuple", [self._value(item) for item in value])
        if isinstance(value, frozenset):
            # In an order that does not change with the hashes of a process.
            return ("frozenset", sorted(repr(self._value(item)) for item in value))
        if isinstance(value, CodeType):
            return self._code(value)
        return self._object(value)

    def _object(self, value: Any) -> Any:
        if isinstance(value, functools.partial):
            named = sorted(value.keywords.items())
            return ("partial", self._value((value.func, value.args, *named)))
        if isinstance(value, MethodType):
            return ("method", self._value(value.__func__), self._value(value.__self__))
        if isinstance(value, FunctionType):
            return self._function_of(value)
        if isinstance(value, enum.Enum):
            return ("enum", type(value).__qualname__, value.name)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._dataclass(value)
        if isinstance(value, (BuiltinFunctionType, type)):
            return ("named", value.__module__, value.__qualname__)
        texts = [(name, getattr(value, name, None)) for name in _TEXTS_OF_KERNELS]
        if any(isinstance(text, str) for _, text in texts):
            kept = [(name, plain(text)) for name, text in texts if isinstance(text, str)]
            return ("kernel", kept, self._value(getattr(value, "options", None)))
        call = vars(type(value)).get("__call__")
        if value is self._function and isinstance(call, FunctionType):
            return ("callable", self._value(call))
        return ("other", type(value).__qualname__)

    def _dataclass(self, value: Any) -> Any:
        if not type(value).__dataclass_params__.frozen:
            return ("other", type(value).__qualname__)
        fields = [(f.name, self._value(getattr(value, f.name))) for f in dataclasses.fields(value)]
        return ("dataclass", type(value).__qualname__, fields)

    def _function_of(self, function: FunctionType) -> Any:
        if id(function) in self._seen:
            return ("seen", self._seen[id(function)])
        if function is not self._function and _package(function) != self._package:
            return ("named", function.__module__, function.__qualname__)
        self._seen[id(function)] = len(self._seen)
        defaults = (function.__defaults__, tuple(sorted((function.__kwdefaults__ or {}).items())))
        codes = list(_nested(function.__code__))
        return (
            "function",
            self._code(function.__code__),
            self._value(defaults),
            self._captured(function, _named_by(codes, "STORE_DEREF")),
            self._globals(function, codes),
        )

    def _captured(self, function: FunctionType, assigned: set[str]) -> Any:
        captured = []
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            try:
                value = cell.cell_contents
            except ValueError:  # a variable that has no value yet
                continue
            if name not in assigned:
                captured.append((name, self._value(value)))
        return captured

    def _globals(self, function: FunctionType, codes: Sequence[CodeType]) -> Any:
        assigned = _named_by(codes, "STORE_GLOBAL")
        names = sorted(_named_by(codes, "LOAD_GLOBAL") - assigned)
        known = function.__globals__
        return [(name, self._value(known[name])) for name in names if name in known]

    def _code(self, code: CodeType) -> Any:
        instructions = [self._instruction(step) for step in dis.get_instructions(code)]
        arguments = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
        return ("code", instructions, arguments, code.co_flags, code.co_exceptiontable)

    def _instruction(self, step: dis.Instruction) -> Any:
        if step.opcode in dis.hasconst:
            return (step.opname, self._value(step.argval))
        if step.opcode in dis.hasname:
            return (step.opname, step.argval)
        return (step.opname, step.arg)


def _nested(code: CodeType) -> Iterator[CodeType]:
    """A code and those of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _named_by(codes: Sequence[CodeType], opname: str) -> set[str]:
    steps = (step for code in codes for step in dis.get_instructions(code))
    return {step.argval for step in steps if step.opname == opname}


def _package(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__module__", "")).partition(".")[0]
