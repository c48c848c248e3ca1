"""What child processes do is told to the process that started them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpurt_core.adapters.cupy.children import VARIABLE, ChildNotes
from gpurt_core.adapters.cupy.early import startup_environment
from gpurt_core.adapters.cupy.null_device import profile_for
from gpurt_core.environment import Environment
from gpurt_core.execution import CompilationStatistics, ProcessMode

Script = Callable[..., str]

LAUNCH = """
import cupy
kernel = cupy.RawKernel('extern "C" __global__ void k(float* x) {}', "k")
kernel((1,), (1,), (cupy.zeros(1, "float32"),))
"""


@pytest.fixture
def announced(tmp_path: Path) -> tuple[ChildNotes, dict[str, str]]:
    """Notes, and the variables of children that leave them."""
    notes = ChildNotes()
    variables = startup_environment([profile_for("sm_80")], {})
    variables |= notes.announcement(tmp_path / "environment", ProcessMode.COMPILE_ONLY)
    return notes, variables


def test_an_interpreter_counts_and_shares_the_environment(
    run_python: Script, tmp_path: Path, announced: tuple[ChildNotes, dict[str, str]]
) -> None:
    notes, variables = announced
    run_python(LAUNCH, variables)
    (note,) = notes.new()
    once = CompilationStatistics(registered=1, compiled=1, stored=1)
    assert (note.statistics.compilation, note.reads, note.absences) == (once, 0, ())
    run_python(LAUNCH, variables)
    (note,) = notes.new()
    assert note.statistics.compilation == CompilationStatistics(registered=1, loaded=1)
    assert notes.new() == []
    assert notes.statistics().compilation.obtained == 2
    with Environment.open(tmp_path / "environment") as environment:
        assert len(environment.known("k")) == 1
    notes.clear()


def test_what_it_reads_back_and_misses_is_told(
    run_python: Script, announced: tuple[ChildNotes, dict[str, str]]
) -> None:
    notes, variables = announced
    run_python("import cupy; cupy.zeros(3)", variables)
    assert notes.new() == []
    run_python("import cupy; x = cupy.zeros(3); x.get(); x.get()", variables)
    assert [(note.reads, note.absences) for note in notes.new()] == [(2, ())]
    notes.clear()


def test_what_a_process_had_done_when_it_was_killed_is_known(
    run_python: Script, announced: tuple[ChildNotes, dict[str, str]]
) -> None:
    notes, variables = announced
    run_python(LAUNCH + "import os; os._exit(0)", variables)
    (note,) = notes.new()
    assert note.statistics.compilation.compiled == 1
    notes.clear()


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_of_whichever_start_method(
    run_python: Script,
    tmp_path: Path,
    announced: tuple[ChildNotes, dict[str, str]],
    start: str,
) -> None:
    notes, variables = announced
    work = (
        LAUNCH.replace("\n", "\n    ").replace("void k(", "void k%d(").replace('"k"', '"k%d" % n')
    )
    work = work.replace("{}'", "{}' % n")
    (tmp_path / "work_of_a_child.py").write_text(f"def work(n):{work}")
    variables["PYTHONPATH"] += f":{tmp_path}"
    run_python(
        f"""
        import multiprocessing
        from work_of_a_child import work
        with multiprocessing.get_context("{start}").Pool(2) as pool:
            pool.map(work, [1, 2, 3, 1])
            pool.close()
            pool.join()
        """,
        variables,
    )
    compilation = notes.statistics().compilation
    assert compilation.compiled == 3
    assert compilation.settled == compilation.registered
    notes.clear()


@pytest.mark.parametrize("said", ["", "{", '{"owner": 1}', "[]"])
def test_one_that_is_told_nothing_of_use_is_left_alone(run_python: Script, said: str) -> None:
    variables = startup_environment([profile_for("sm_80")], {}) | {VARIABLE: said}
    assert run_python("import cupy; print(cupy.zeros(3).size)", variables) == "3\n"


def test_the_owner_and_its_workers_count_by_themselves(
    run_python: Script, announced: tuple[ChildNotes, dict[str, str]]
) -> None:
    notes, variables = announced
    run_python(LAUNCH, variables | {"PYTEST_XDIST_WORKER": "gw0"})
    said = json.loads(variables[VARIABLE])
    assert said["owner"] == os.getpid()
    assert notes.new() == []
