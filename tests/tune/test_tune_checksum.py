"""The checksum of candidates: on what it differs, and what is the same to it."""

from __future__ import annotations

import functools
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpurt_core.servers import Kernel
from gpurt_core.tune import Tunable, TunableSet
from gpurt_core.tune.checksum import plain

START = """
SOURCE = "__kernel void f(__global float *x) { x[0] = 1; }"
BLOCK = 64
calls = 0

def helper(x):
    return x + 1

def launch(x):
    '''Launches.'''
    global calls
    calls += 1
    total = helper(x) * BLOCK
    return (SOURCE, total)
"""


def checksum(*candidates: Tunable) -> str:
    return TunableSet(lambda *args: args, candidates).checksum


def checksum_of_module(text: str, function: str = "launch") -> str:
    names: dict[str, Any] = {"__name__": "written.module"}
    exec(compile(text, "written", "exec"), names)
    return checksum(Tunable("launch", names[function]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x + 1", "x + 2"),
        ("BLOCK = 64", "BLOCK = 128"),
        ("x[0] = 1", "x[0] = 2"),
        ("* BLOCK", "+ BLOCK"),
        ("return (SOURCE, total)", "return (SOURCE, str(total))"),
        ("def launch(x):", "def launch(x, y=3):"),
    ],
)
def test_what_a_candidate_does_changes_it(old: str, new: str) -> None:
    assert old in START
    assert checksum_of_module(START.replace(old, new)) != checksum_of_module(START)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def launch", "# what follows launches\n\n\ndef launch"),
        ("'''Launches.'''", "'''Launches it.'''"),
        ("helper(x) * BLOCK", "(helper(x)\n        * BLOCK)  # all"),
        ("total", "result"),
        ("calls = 0", "calls = 7"),
        ("BLOCK = 64", "BLOCK = 64\nOTHER = 3"),
        ("{ x[0] = 1; }", "{  /* first */ x[0] = 1; }"),
        ("def helper", "def another(x):\n    return x\n\ndef helper"),
    ],
)
def test_what_a_candidate_does_not_depend_on_leaves_it(old: str, new: str) -> None:
    assert old in START
    assert checksum_of_module(START.replace(old, new)) == checksum_of_module(START)


def test_a_renamed_function_is_the_same_candidate() -> None:
    renamed = START.replace("def launch", "def start")
    assert checksum_of_module(renamed, "start") == checksum_of_module(START)


def _run(value: object) -> object:
    return value


def _blocked(block: int) -> Callable[..., object]:
    return lambda x: (x, block)


def _with_kernel(text: str, *options: str) -> Callable[..., object]:
    kernel = Kernel("f", opencl=text, options=options)
    return lambda x: (x, kernel)


class RawKernel:
    """As CuPy's, as far as its text goes."""

    def __init__(self, code: str, options: tuple[str, ...] = ()) -> None:
        self.code = code
        self.options = options


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Tunable("a", _run), Tunable("b", _run)),
        (Tunable("a", _blocked(64)), Tunable("a", _blocked(128))),
        (Tunable("a", functools.partial(_run, 1)), Tunable("a", functools.partial(_run, 2))),
        (Tunable("a", functools.partial(_run, value=1)), Tunable("a", functools.partial(_run, 1))),
        (Tunable("a", _with_kernel("int a;")), Tunable("a", _with_kernel("int b;"))),
        (Tunable("a", _with_kernel("int a;")), Tunable("a", _with_kernel("int a;", "-DN=1"))),
        (
            Tunable("a", functools.partial(_run, RawKernel("int a;"))),
            Tunable("a", functools.partial(_run, RawKernel("int b;"))),
        ),
        (Tunable("a", _run, sources=["int a;"]), Tunable("a", _run, sources=["int b;"])),
        (Tunable("a", _run, sources=["int a;"]), Tunable("a", _run)),
        (Tunable("a", lambda x: x in {"p", "q"}), Tunable("a", lambda x: x in {"p", "r"})),
        (Tunable("a", max), Tunable("a", min)),
    ],
)
def test_other_candidates_have_another(one: Tunable, other: Tunable) -> None:
    assert checksum(one) != checksum(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Tunable("a", _blocked(64)), Tunable("a", _blocked(64))),
        (Tunable("a", _with_kernel("int a;")), Tunable("a", _with_kernel("int  a; // the one"))),
        (
            Tunable("a", _run, sources=["int a;\n\n"]),
            Tunable("a", _run, sources=["/* two\nlines */ int a;"]),
        ),
        (Tunable("a", lambda x: x + 1), Tunable("a", lambda y: y + 1)),
    ],
)
def test_the_same_candidates_have_the_same(one: Tunable, other: Tunable) -> None:
    assert checksum(one) == checksum(other)


def test_order_and_grouping_of_candidates_change_it() -> None:
    a, b = Tunable("a", _run), Tunable("b", _run)
    sets = [
        TunableSet(lambda: 1, [a, b]),
        TunableSet(lambda: 1, [b, a]),
        TunableSet(lambda: 1, [a], [[b]]),
    ]
    assert len({tunables.checksum for tunables in sets}) == 3


def test_functions_that_call_each_other_have_one() -> None:
    text = """
def even(n):
    return n == 0 or odd(n - 1)

def odd(n):
    return n != 0 and even(n - 1)
"""
    assert checksum_of_module(text, "even") == checksum_of_module(text, "even")
    assert checksum_of_module(text, "even") != checksum_of_module(text, "odd")


def test_it_is_the_same_in_every_process(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        from gpurt_core.tune import Tunable, TunableSet
        def f(x): return x in {"p", "q", "r", "s"}, [y for y in x if y in {"a", "b", "c"}]
        print(TunableSet(lambda x: x, [Tunable("f", f)]).checksum)
        """)
    )
    found = {
        subprocess.run(
            [sys.executable, str(script)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1


def test_texts_in_quotes_are_no_comments() -> None:
    assert plain('a = "//x";  // y\n\n  b = \'"\'; /* z */ c') == 'a = "//x";\nb = \'"\'; c'
