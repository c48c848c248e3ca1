"""The machine code around callbacks: run here for this machine, spelled out for the other one."""

from __future__ import annotations

import ctypes
import gc
import platform
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from gpurt_core.adapters.cupy.null_device import capsules, shim
from gpurt_core.adapters.cupy.null_device.shim import Constant, Guarded, OneCall, Result
from gpurt_core.errors import NullDeviceUnavailable

_alive: list[object] = []
"""Callbacks, whose addresses are in code that is never freed."""


def _callable(signature: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, called as CuPy's compiled code would: through a stub, by its C signature."""
    parsed = capsules.Signature.parse(signature)
    callback, stub = capsules._callback("f", parsed, function)
    (address,) = shim.publish([stub], capsules._raise_kept)
    _alive.append(callback)
    if parsed.result in capsules._STRUCTURES:
        result: Any = _Structure
    elif parsed.returns_object:
        result = ctypes.py_object
    else:
        result = ctypes.c_float if parsed.result == "float" else capsules._INTEGERS[parsed.result]
    types = [capsules._INTEGERS[name] for name in parsed.arguments]
    prototype: Any = ctypes.PYFUNCTYPE(result, *types)
    return prototype(address)  # type: ignore[no-any-return]


class _Structure(ctypes.Structure):
    """As long as `cudaChannelFormatDesc`: too long for registers."""

    _fields_ = tuple((name, ctypes.c_int) for name in "xyzwf")


def test_arguments_arrive_however_many_there_are() -> None:
    for count in range(15):
        arguments = tuple(2**40 + n for n in range(count))
        text = ", ".join(["intptr_t"] * count) or "void"
        seen: list[tuple[int, ...]] = []

        def remember(*given: int, seen: list[tuple[int, ...]] = seen) -> int:
            seen.append(given)
            return 2**50

        assert _callable(f"intptr_t ({text})", remember)(*arguments) == 2**50
        assert seen == [arguments]


def test_narrow_and_signed_arguments_arrive_as_they_are() -> None:
    call = _callable(
        "PyObject *(int, unsigned int, size_t, intptr_t, int, int, int, int, unsigned int)",
        lambda *given: given,
    )
    given = (-1, 2**32 - 1, 2**64 - 1, -(2**63), -5, 0, 7, -8, 2**31)
    assert call(*given) == given


@pytest.mark.parametrize(
    ("signature", "values"),
    [
        ("int (int)", [0, 1, -1, -2, 2**31 - 1]),
        ("intptr_t (int)", [0, 1, 2**62]),
        ("size_t (int)", [0, 2**64 - 1]),
        ("float (int)", [0.0, -0.0, 1.5]),
        ("PyObject *(int)", [None, 0, "text"]),
    ],
)
def test_every_value_comes_back_also_one_that_looks_like_an_error(
    signature: str, values: list[Any]
) -> None:
    for value in values:
        assert _callable(signature, lambda _, value=value: value)(3) == value


@pytest.mark.parametrize(
    "signature",
    [
        "int (int)",
        "intptr_t (int)",
        "float (int)",
        "PyObject *(int)",
        "cudaChannelFormatDesc (int)",
    ],
)
def test_exceptions_leave_functions_of_every_kind_and_only_once(signature: str) -> None:
    class Stop(BaseException):
        pass

    def fails(number: int) -> Any:
        raise (KeyError, Stop, KeyboardInterrupt)[number](f"number {number}")

    call = _callable(signature, fails)
    for number, kind in enumerate((KeyError, Stop, KeyboardInterrupt)):
        with pytest.raises(kind, match=f"number {number}"):
            call(number)
    zero = {"float (int)": 0.0, "PyObject *(int)": None, "cudaChannelFormatDesc (int)": bytes(20)}
    quiet = _callable(signature, lambda _: zero.get(signature, 0))
    quiet(1)  # the exceptions before are gone


def test_a_structure_comes_back_whole() -> None:
    content = struct.pack("<5i", 1, 2, 3, 4, -5)
    made = _callable("cudaChannelFormatDesc (intptr_t)", lambda _: content)(1)
    assert bytes(made) == content


def test_exceptions_of_threads_do_not_mix() -> None:
    def fails(number: int) -> int:
        raise LookupError(number)

    call = _callable("int (int)", fails)
    wrong: list[object] = []

    def work(number: int) -> None:
        for _ in range(2000):
            try:
                wrong.append(call(number))
            except LookupError as error:
                if error.args != (number,):
                    wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_nothing_is_leaked_by_calls_or_by_exceptions() -> None:
    thing, error = object(), ValueError("the same each time")

    def fails(_: int) -> Any:
        raise error

    give, fail = _callable("PyObject *(int)", lambda _: thing), _callable("PyObject *(int)", fails)
    gc.collect()
    before = (sys.getrefcount(thing), sys.getrefcount(error), len(gc.get_objects()))
    for _ in range(1000):
        give(0)
        with pytest.raises(ValueError, match="the same"):
            fail(0)
    error.__traceback__ = None
    gc.collect()
    after = (sys.getrefcount(thing), sys.getrefcount(error), len(gc.get_objects()))
    assert after[:2] == before[:2]
    assert after[2] - before[2] < 100


def test_a_stub_that_returns_none_takes_the_reference_that_it_gives() -> None:
    (address,) = shim.publish([shim.none_stub()], lambda: None)
    call: Any = ctypes.PYFUNCTYPE(ctypes.py_object)(address)
    before = sys.getrefcount(None)
    assert [call() for _ in range(5000)] == [None] * 5000
    assert abs(sys.getrefcount(None) - before) < 1000


def test_constants_and_single_calls() -> None:
    strlen = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value or 0
    text = ctypes.create_string_buffer(b"twelve bytes")
    stubs: list[shim.Stub] = [
        Constant(2**63 + 5),
        Constant(7),
        OneCall(strlen, ctypes.addressof(text)),
    ]
    addresses = shim.publish(stubs, lambda: None)
    results = [ctypes.CFUNCTYPE(ctypes.c_size_t)(address)() for address in addresses]
    assert results == [2**63 + 5, 7, 12]
    as_float: Any = ctypes.CFUNCTYPE(ctypes.c_float)(addresses[1])
    assert as_float() == 0.0


def test_code_is_executable_and_cannot_be_written() -> None:
    (address,) = shim.publish([Constant(1)], lambda: None)
    with open("/proc/self/maps", encoding="ascii") as maps:
        for line in maps:
            start, _, end = line.split()[0].partition("-")
            if int(start, 16) <= address < int(end, 16):
                assert line.split()[1] == "r-xp"
                return
    pytest.fail("the code is nowhere")


AARCH64 = {
    # Run in an emulator of the architecture, with all arguments in registers and on the stack,
    # with results that are errors and that are not.
    Constant(0x1234, counts=True): """
        2f00e400 d2824680 f2a00000 f2c00000 f2e00000 f9400009 91000529 f9000009 d65f03c0""",
    OneCall(0x11112222, 7): """
        d28000e0 f2a00000 f2c00000 f2e00000 d2844450 f2a22230 f2c00010 f2e00010 d61f0200""",
    Guarded(0x11112222, 9, Result.LONG, 0xFEED, 0): """
        a9bf7bfd 910003fd d10043ff f9400ba9 f90003e9 d2844450 f2a22230 f2c00010 f2e00010 d63f0200
        d29fdda9 f2a00009 f2c00009 f2e00009 eb09001f 540001c1 d28a2a20 f2a00000 f2c00000 f2e00000
        d28c4c50 f2a00010 f2c00010 f2e00010 d63f0200 d2800000 f2a00000 f2c00000 f2e00000 910003bf
        a8c17bfd d65f03c0""",
    Guarded(0x11112222, 2, Result.FLOAT, 0, 0): """
        a9bf7bfd 910003fd d10003ff d2844450 f2a22230 f2c00010 f2e00010 d63f0200 1e260000 d2800009
        f2a00009 f2c00009 f2e00009 6b09001f 540001e1 d28a2a20 f2a00000 f2c00000 f2e00000 d28c4c50
        f2a00010 f2c00010 f2e00010 d63f0200 d2800000 f2a00000 f2c00000 f2e00000 1e270000 910003bf
        a8c17bfd d65f03c0""",
    Guarded(0x11112222, 3, Result.HIDDEN, 0, 0): """
        a9bf7bfd 910003fd d10003ff aa0103e2 aa0003e1 aa0803e0 d2844450 f2a22230 f2c00010 f2e00010
        d63f0200 d2800009 f2a00009 f2c00009 f2e00009 eb09001f 540001c1 d28a2a20 f2a00000 f2c00000
        f2e00000 d28c4c50 f2a00010 f2c00010 f2e00010 d63f0200 d2800000 f2a00000 f2c00000 f2e00000
        910003bf a8c17bfd d65f03c0""",
}


@pytest.mark.parametrize("stub", AARCH64, ids=lambda stub: type(stub).__name__)
def test_the_code_for_aarch64_is_what_was_tried_on_an_emulator(stub: shim.Stub) -> None:
    code = shim.assemble("aarch64", stub, raiser=0x5151, call=0x6262)
    words = struct.unpack(f"<{len(code) // 4}I", code)
    assert [f"{word:08x}" for word in words] == AARCH64[stub].split()


@pytest.mark.parametrize(
    ("system", "machine"), [("darwin", "arm64"), ("win32", "AMD64"), ("linux", "riscv64")]
)
def test_an_unsupported_machine_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(NullDeviceUnavailable) as caught:
        shim.require_supported()
    assert str(caught.value) == (
        "the null device cannot be installed: it needs Linux on x86_64 or aarch64 with a 64-bit "
        f"Python, and this is {system} on {machine}"
    )
