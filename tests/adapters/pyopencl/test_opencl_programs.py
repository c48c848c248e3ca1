"""Programs of PyOpenCL code that knows nothing of the seam: built, kept, queued, counted."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy
import pyopencl
import pytest

from gpurt_core.adapters.pyopencl import PyOpenCLSeam
from gpurt_core.compilation import KernelEvent
from gpurt_core.execution import CompilationStatistics, KernelOutcome, ProcessMode
from gpurt_core.servers.opencl.devices import find_devices
from tests.adapters.pyopencl.conftest import BROKEN, TWICE, InMode, values
from tests.servers.conftest import Store


def test_a_build_is_counted_and_kept_and_the_next_generation_loads_it(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, queue: Any, ones: Any, store: Store
) -> None:
    collector = in_mode(ProcessMode.EXECUTE)
    kernel = pyopencl.Program(context, TWICE).build().twice
    kernel(queue, (4,), None, ones)
    kernel(queue, (4,), None, ones)
    expected = CompilationStatistics(registered=1, compiled=1, stored=1)
    assert collector.statistics().compilation == expected
    assert list(store.labels.values()) == ["twice"]
    seam.begin_generation()
    kernel(queue, (4,), None, ones)
    assert values(queue, ones) == [8.0] * 4
    expected = CompilationStatistics(registered=2, compiled=1, loaded=1, stored=1)
    assert collector.statistics().compilation == expected


def test_one_program_in_two_contexts_is_obtained_once(
    seam: PyOpenCLSeam, in_mode: InMode, ones: Any, queue: Any, context: Any
) -> None:
    collector = in_mode(ProcessMode.EXECUTE)
    pyopencl.Program(pyopencl.Context([find_devices()[0]]), TWICE).build()
    pyopencl.Program(context, TWICE).build().twice(queue, (4,), None, ones)
    assert values(queue, ones) == [2.0] * 4
    assert collector.statistics().compilation.registered == 1


def test_a_program_that_does_not_build_raises_at_the_statement_what_pyopencl_raises(
    context: Any, in_mode: InMode, store: Store
) -> None:
    with pytest.raises(pyopencl.RuntimeError) as plain:
        pyopencl.Program(context, BROKEN).build(["-DN=1"])
    seam = PyOpenCLSeam.install(store)
    collector = in_mode(ProcessMode.EXECUTE)
    for _ in range(2):
        with pytest.raises(pyopencl.RuntimeError, match="undeclared identifier") as steered:
            pyopencl.Program(context, BROKEN).build(["-DN=1"])
        assert _without_places(steered.value) == _without_places(plain.value)
        assert (steered.value.code, steered.value.routine) == (plain.value.code, "clBuildProgram")
    seam.uninstall()
    assert collector.statistics().compilation == CompilationStatistics(registered=2, failed=2)


def _without_places(error: BaseException) -> list[str]:
    """An error's words, but for the names of temporary files."""
    return [word for word in str(error).split() if not word.startswith("/")]


def test_options_that_cannot_be_are_refused_as_pyopencl_refuses_them(
    seam: PyOpenCLSeam, context: Any
) -> None:
    with pytest.raises(pyopencl.RuntimeError, match="INVALID_BUILD_OPTIONS"):
        pyopencl.Program(context, TWICE).build(["-no-such-option"])


def test_compile_only_queues_and_builds_in_one_batch(
    seam: PyOpenCLSeam,
    in_mode: InMode,
    context: Any,
    queue: Any,
    ones: Any,
    events: list[KernelEvent],
) -> None:
    collector = in_mode(ProcessMode.COMPILE_ONLY)
    for number in range(3):
        source = TWICE.replace("2", str(number))
        event = pyopencl.Program(context, source).build().twice(queue, (4,), None, ones)
        event.wait()
    assert values(queue, ones) == [1.0] * 4
    assert seam.queued_count == 3
    assert collector.statistics().compilation == CompilationStatistics(registered=3)
    seam.compile_queued()
    expected = CompilationStatistics(registered=3, compiled=3, stored=3)
    assert collector.statistics().compilation == expected
    assert [event.outcome for event in events] == [KernelOutcome.COMPILED] * 3


def test_a_queued_program_that_does_not_build_is_told_to_the_observer(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, events: list[KernelEvent]
) -> None:
    in_mode(ProcessMode.COMPILE_ONLY)
    program = pyopencl.Program(context, BROKEN).build()
    seam.compile_queued()
    assert [event.outcome for event in events] == [KernelOutcome.FAILED]
    assert events[0].error is not None
    assert "undeclared identifier" in str(events[0].error.log)
    with pytest.raises(pyopencl.RuntimeError, match="undeclared identifier"):
        program.broken.num_args  # noqa: B018


def test_eagerly_it_raises_at_the_statement_though_launches_are_dropped(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, queue: Any, ones: Any
) -> None:
    in_mode(ProcessMode.COMPILE_ONLY)
    seam.eager = True
    with pytest.raises(pyopencl.RuntimeError, match="undeclared identifier"):
        pyopencl.Program(context, BROKEN).build()
    pyopencl.Program(context, TWICE).build().twice(queue, (4,), None, ones)
    assert values(queue, ones) == [1.0] * 4
    assert seam.queued_count == 0


@pytest.mark.parametrize(
    "ask",
    [
        lambda program: program.twice.num_args == 1,
        lambda program: len(program.binaries) == 1,
        lambda program: program.kernel_names == "twice",
        lambda program: [kernel.function_name for kernel in program.all_kernels()] == ["twice"],
        lambda program: (
            program.get_build_info(program.devices[0], pyopencl.program_build_info.STATUS) == 0
        ),
    ],
)
def test_what_only_a_built_program_knows_builds_it(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, ask: Any
) -> None:
    collector = in_mode(ProcessMode.COMPILE_ONLY)
    program = pyopencl.Program(context, TWICE).build()
    assert collector.statistics().compilation.compiled == 0
    assert ask(program)
    assert collector.statistics().compilation.compiled == 1


@pytest.mark.parametrize("mode", list(ProcessMode))
def test_a_kernel_that_is_not_there_is_missing_in_every_mode(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, mode: ProcessMode
) -> None:
    in_mode(mode)
    program = pyopencl.Program(context, TWICE).build()
    with pytest.raises(AttributeError, match="'thrice' was not found"):
        program.thrice  # noqa: B018
    with pytest.raises(pyopencl.LogicError, match="INVALID_KERNEL_NAME"):
        pyopencl.Kernel(program, "thrice")


def test_a_kernel_that_a_macro_names_is_found(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, queue: Any, ones: Any
) -> None:
    in_mode(ProcessMode.COMPILE_ONLY)
    source = "#define NAME(a) a##_it\n__kernel void NAME(do)(__global float *x) { x[0] = 5; }"
    program = pyopencl.Program(context, source).build()
    program.do_it(queue, (1,), None, ones)
    assert values(queue, ones) == [1.0] * 4


def test_a_kernel_that_is_retrieved_again_warns_as_before(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any
) -> None:
    in_mode(ProcessMode.COMPILE_ONLY)
    program = pyopencl.Program(context, TWICE).build()
    program.twice  # noqa: B018
    with pytest.warns(pyopencl.RepeatedKernelRetrieval, match="'twice'"):
        program.twice  # noqa: B018
    pyopencl.Kernel(program, "twice")


def test_what_the_compiler_says_is_told_as_before(
    seam: PyOpenCLSeam, context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYOPENCL_COMPILER_OUTPUT", "1")
    source = "#warning mind the gap\n" + TWICE
    for _ in ("compiled", "loaded"):
        with pytest.warns(pyopencl.CompilerWarning, match="mind the gap"):
            pyopencl.Program(context, source).build()
        seam.begin_generation()


def test_the_source_of_a_program_that_came_as_a_binary_is_there(
    seam: PyOpenCLSeam, context: Any
) -> None:
    assert pyopencl.Program(context, TWICE).build().source == TWICE


def test_an_edited_header_is_seen_and_its_old_text_found_again(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, queue: Any, ones: Any, tmp_path: Path
) -> None:
    (tmp_path / "outer.h").write_text('#include "inner.h"\n')
    source = '#include "outer.h"\n__kernel void v(__global float *x) { x[0] = V; }'
    collector = in_mode(ProcessMode.EXECUTE)
    for value, obtained in ((1, 1), (2, 2), (1, 2)):
        (tmp_path / "inner.h").write_text(f"#define V {value}\n")
        (tmp_path / "unrelated.h").write_text(f"#define W {value}\n")
        program = pyopencl.Program(context, source).build(["-I", str(tmp_path)])
        program.v(queue, (1,), None, ones)
        assert values(queue, ones)[0] == value
        assert collector.statistics().compilation.obtained == obtained


def test_many_threads_that_build_one_program_compile_it_once(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any
) -> None:
    collector = in_mode(ProcessMode.EXECUTE)
    threads = [threading.Thread(target=pyopencl.Program(context, TWICE).build) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = CompilationStatistics(registered=1, compiled=1, stored=1)
    assert collector.statistics().compilation == expected


def test_a_program_of_binaries_goes_its_own_way(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, queue: Any, ones: Any
) -> None:
    binaries = pyopencl.Program(context, TWICE).build().binaries
    collector = in_mode(ProcessMode.EXECUTE)
    program = pyopencl.Program(context, context.devices, binaries).build()
    program.twice(queue, (4,), None, ones)
    assert values(queue, ones) == [2.0] * 4
    assert collector.statistics().compilation == CompilationStatistics()


def test_with_an_environment_pyopencls_cache_is_not_written(
    seam: PyOpenCLSeam, context: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _have_pyopencl_cache(monkeypatch)
    pyopencl.Program(context, TWICE).build(cache_dir=str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_without_one_what_comes_from_pyopencls_cache_counts_as_loaded(
    bare_seam: PyOpenCLSeam,
    in_mode: InMode,
    context: Any,
    queue: Any,
    ones: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _have_pyopencl_cache(monkeypatch)
    collector = in_mode(ProcessMode.EXECUTE)
    pyopencl.Program(context, TWICE).build(cache_dir=str(tmp_path))
    bare_seam.begin_generation()
    program = pyopencl.Program(context, TWICE).build(cache_dir=str(tmp_path))
    program.twice(queue, (4,), None, ones)
    assert values(queue, ones) == [2.0] * 4
    expected = CompilationStatistics(registered=2, compiled=1, loaded=1)
    assert collector.statistics().compilation == expected


def _have_pyopencl_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyOpenCL leaves keeping to PoCL, which keeps nothing here: now it keeps itself."""
    monkeypatch.setattr("pyopencl.characterize.has_src_build_cache", lambda device: False)


def test_without_an_environment_errors_are_those_of_pyopencl(
    bare_seam: PyOpenCLSeam, in_mode: InMode, context: Any
) -> None:
    collector = in_mode(ProcessMode.EXECUTE)
    with pytest.raises(pyopencl.RuntimeError, match="undeclared identifier"):
        pyopencl.Program(context, BROKEN).build()
    assert collector.statistics().compilation == CompilationStatistics(registered=1, failed=1)


def test_without_an_environment_a_program_serves_other_contexts_too(
    bare_seam: PyOpenCLSeam, in_mode: InMode, context: Any, queue: Any, ones: Any
) -> None:
    collector = in_mode(ProcessMode.EXECUTE)
    pyopencl.Program(pyopencl.Context([find_devices()[0]]), TWICE).build()
    pyopencl.Program(context, TWICE).build().twice(queue, (4,), None, ones)
    assert values(queue, ones) == [2.0] * 4
    assert collector.statistics().compilation == CompilationStatistics(registered=1, compiled=1)


def test_a_source_of_bytes_is_a_source(seam: PyOpenCLSeam, context: Any) -> None:
    program = pyopencl.Program(context, TWICE.encode()).build()
    assert program.twice.num_args == 1
    assert numpy.uint32(program.num_kernels) == 1
