"""Launches and reads of PyOpenCL code: run, dropped, refused and seen."""

from __future__ import annotations

from typing import Any

import numpy
import pyopencl
import pyopencl.array
import pyopencl.tools
import pytest
from pyopencl.elementwise import ElementwiseKernel
from pyopencl.reduction import ReductionKernel
from pyopencl.scan import InclusiveScanKernel

from gpurt_core.adapters.pyopencl import PyOpenCLSeam
from gpurt_core.execution import (
    CompilationStatistics,
    ProcessMode,
    ReadLimitExceeded,
    StreamMode,
    StreamModeOverride,
)
from tests.adapters.pyopencl.conftest import TWICE, InMode, values
from tests.servers.conftest import Store

BY_64 = """
__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void by64(__global float *x) { x[0] += 1; }
"""
ADD = "__kernel void add(__global float *x, float a, int i) { x[i] += a; }"


def test_compile_and_autotune_loads_and_drops_but_what_a_measurement_opens(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, queue: Any, ones: Any
) -> None:
    collector = in_mode(ProcessMode.COMPILE_AND_AUTOTUNE)
    kernel = pyopencl.Program(context, TWICE).build().twice
    kernel(queue, (4,), None, ones)
    assert values(queue, ones) == [1.0] * 4
    assert collector.statistics().compilation.compiled == 1
    with StreamModeOverride(StreamMode.EXECUTE, seam.stream(queue)):
        kernel(queue, (4,), None, ones)
    other = pyopencl.CommandQueue(context)
    with StreamModeOverride(StreamMode.EXECUTE, seam.stream(other)):
        kernel(queue, (4,), None, ones)
    kernel(queue, (4,), None, ones)
    assert values(queue, ones) == [2.0] * 4


def test_a_stream_is_named_by_its_device_and_queue(seam: PyOpenCLSeam, queue: Any) -> None:
    stream = seam.stream(queue)
    assert stream.service == "opencl:0"
    assert stream.stream == queue.int_ptr


def test_what_is_set_on_a_queued_kernel_is_there_when_it_runs(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, queue: Any, ones: Any
) -> None:
    in_mode(ProcessMode.COMPILE_ONLY)
    typed, untyped = (pyopencl.Kernel(pyopencl.Program(context, ADD).build(), "add") for _ in "ab")
    typed.set_scalar_arg_dtypes([None, numpy.float32, numpy.int32])
    untyped.set_args(ones, numpy.float32(7), numpy.int32(0))
    untyped.set_arg(2, numpy.int32(3))
    assert seam.queued_count == 1
    with StreamModeOverride(StreamMode.EXECUTE, seam.stream(queue)):
        typed(queue, (1,), None, ones, 4, 1)
        pyopencl.enqueue_nd_range_kernel(queue, untyped, (1,), None)
    assert values(queue, ones) == [1.0, 5.0, 1.0, 8.0]


@pytest.mark.parametrize("local", [(32,), (8192,), None, (64, 1)])
def test_sizes_that_do_not_suit_a_kernel_are_refused_though_the_launch_is_dropped(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, queue: Any, ones: Any, local: Any
) -> None:
    kernel = pyopencl.Program(context, BY_64).build().by64
    with pytest.raises(pyopencl.LogicError) as plain:
        kernel(queue, (8192,), local, ones)
    in_mode(ProcessMode.COMPILE_AND_AUTOTUNE)
    with pytest.raises(pyopencl.LogicError) as dropped:
        kernel(queue, (8192,), local, ones)
    assert dropped.value.code == plain.value.code
    kernel(queue, (8192,), (64,), ones)
    assert values(queue, ones) == [1.0] * 4


def test_sizes_that_do_not_divide_are_refused_where_the_device_refuses_them(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, queue: Any, ones: Any
) -> None:
    kernel = pyopencl.Program(context, TWICE).build().twice

    def launch() -> str:
        try:
            kernel(queue, (4,), (3,), ones)
        except pyopencl.LogicError as error:
            return str(error)
        return "taken"

    plain = launch()
    in_mode(ProcessMode.COMPILE_AND_AUTOTUNE)
    assert launch() == plain
    kernel(queue, (4,), (3,), ones, g_times_l=True)


def test_the_wrong_number_of_arguments_is_refused_though_the_launch_is_dropped(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, queue: Any, ones: Any
) -> None:
    in_mode(ProcessMode.COMPILE_AND_AUTOTUNE)
    kernel = pyopencl.Program(context, TWICE).build().twice
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        kernel(queue, (4,), None)


def test_dropped_launches_give_events_that_can_be_waited_for(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, ones: Any
) -> None:
    in_mode(ProcessMode.COMPILE_ONLY)
    profiling = pyopencl.command_queue_properties.PROFILING_ENABLE
    queue = pyopencl.CommandQueue(context, properties=profiling)
    kernel = pyopencl.Program(context, TWICE).build().twice
    first = kernel(queue, (4,), None, ones)
    second = kernel(queue, (4,), None, ones, wait_for=[first])
    second.wait()
    assert second.profile.end >= second.profile.start


def test_kernels_of_before_the_seam_are_dropped_and_count_nowhere(
    context: Any, queue: Any, ones: Any, in_mode: InMode, store: Store
) -> None:
    kernel = pyopencl.Program(context, TWICE).build().twice
    seam = PyOpenCLSeam.install(store)
    try:
        assert isinstance(kernel, pyopencl.Kernel)
        collector = in_mode(ProcessMode.COMPILE_ONLY)
        kernel(queue, (4,), None, ones)
        assert values(queue, ones) == [1.0] * 4
        assert collector.statistics().compilation == CompilationStatistics()
    finally:
        seam.uninstall()
    kernel(queue, (4,), None, ones)


def test_a_steered_kernel_is_a_kernel_and_stays_steered(
    context: Any, queue: Any, ones: Any, in_mode: InMode, store: Store
) -> None:
    seam = PyOpenCLSeam.install(store)
    kernel = pyopencl.Program(context, TWICE).build().twice
    assert isinstance(kernel, pyopencl.Kernel)
    twin = kernel.clone()
    seam.uninstall()
    in_mode(ProcessMode.COMPILE_ONLY)
    kernel(queue, (4,), None, ones)
    twin(queue, (4,), None, ones)
    assert values(queue, ones) == [1.0] * 4


def test_uninstalling_puts_everything_back(store: Store) -> None:
    owners = (pyopencl, pyopencl._cl, pyopencl.tools, pyopencl.Program)
    before = [dict(vars(owner)) for owner in owners]
    seam = PyOpenCLSeam.install(store)
    assert [dict(vars(owner)) for owner in owners] != before
    with pytest.raises(RuntimeError, match="installed in PyOpenCL already: uninstall it first"):
        PyOpenCLSeam.install(store)
    seam.uninstall()
    seam.uninstall()
    assert [dict(vars(owner)) for owner in owners] == before


def test_pyopencls_own_kernels_are_counted_alike_in_every_generation(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, queue: Any
) -> None:
    collector = in_mode(ProcessMode.EXECUTE)
    counted = []
    for _ in range(2):
        before = collector.statistics().compilation
        seam.begin_generation()
        x = pyopencl.array.arange(queue, 8, dtype=numpy.float32)
        ElementwiseKernel(context, "float *x", "x[i] = x[i] + 1", "plus_one")(x)
        assert float(pyopencl.array.sum(x * 2).get()) == 72.0
        least = ReductionKernel(
            context, numpy.float32, "100", "fmin(a, b)", "x[i]", "__global float *x"
        )
        assert float(least(x).get()) == 1.0
        counted.append(collector.statistics().compilation - before)
    assert counted[0].registered == counted[1].registered == counted[1].loaded > 4


def test_a_scan_runs_and_is_counted(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, queue: Any
) -> None:
    collector = in_mode(ProcessMode.EXECUTE)
    scan = InclusiveScanKernel(context, numpy.int32, "a+b", neutral="0")
    built = collector.statistics().compilation.compiled
    assert built > 0
    x = pyopencl.array.to_device(queue, numpy.ones(8, numpy.int32))
    scan(x)
    assert x.get().tolist() == list(range(1, 9))
    assert collector.statistics().compilation.compiled == built


def test_elementwise_kernels_and_array_operations_stay_queued(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any, queue: Any
) -> None:
    collector = in_mode(ProcessMode.COMPILE_ONLY)
    x = pyopencl.array.to_device(queue, numpy.ones(8, numpy.float32))
    y = x * 3 + x
    ElementwiseKernel(context, "float *x", "x[i] = 0", "clear_it")(y)
    assert collector.statistics().compilation.settled == 0
    assert seam.queued_count == collector.statistics().compilation.registered == 3
    seam.compile_queued()
    assert collector.statistics().compilation.compiled == 3


def test_reads_are_seen_and_writes_are_not(
    seam: PyOpenCLSeam, context: Any, queue: Any, ones: Any
) -> None:
    host = numpy.zeros(4, numpy.float32)
    other = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 16)
    flags = pyopencl.map_flags

    def mapped(how: int) -> None:
        array, _event = pyopencl.enqueue_map_buffer(queue, ones, how, 0, (4,), numpy.float32)
        array.base.release(queue)

    pyopencl.enqueue_copy(queue, ones, host)
    pyopencl.enqueue_copy(queue, other, ones)
    pyopencl.enqueue_fill_buffer(queue, other, numpy.float32(1), 0, 16)
    mapped(flags.WRITE_INVALIDATE_REGION)
    assert seam.reads.count == 0
    pyopencl.enqueue_copy(queue, host, ones)
    assert seam.reads.count == 1
    mapped(flags.READ)
    mapped(flags.READ | flags.WRITE)
    assert seam.reads.count == 3
    array = pyopencl.array.to_device(queue, host)
    array.get()
    assert seam.reads.count == seam.reads.count_for_thread() == 4
    with seam.reads.overlooking():
        array.get()
    assert seam.reads.count == 4


def test_shared_memory_that_is_copied_or_mapped_is_read(seam: PyOpenCLSeam, context: Any) -> None:
    queue = pyopencl.CommandQueue(context)
    memory = pyopencl.SVM(pyopencl.csvm_empty(context, (4,), numpy.float32))
    with memory.map_rw(queue) as array:
        array.fill(3)
    assert seam.reads.count == 1
    with memory.map_ro(queue) as array:
        assert array.tolist() == [3.0] * 4
    assert seam.reads.count == 2


def test_who_reads_without_end_is_ended(seam: PyOpenCLSeam, queue: Any, ones: Any) -> None:
    seam.reads.begin(10)
    with pytest.raises(ReadLimitExceeded, match="read back 11 times"):
        _wait_for_two(queue, ones)


def _wait_for_two(queue: Any, buffer: Any) -> None:
    while values(queue, buffer)[0] < 2:
        pass


def test_asking_the_device_how_it_lays_out_a_type_works_in_every_mode(
    seam: PyOpenCLSeam, in_mode: InMode, context: Any
) -> None:
    kind = numpy.dtype([("a", numpy.int8), ("b", numpy.float64)])
    collector = in_mode(ProcessMode.COMPILE_ONLY)
    laid_out, text = pyopencl.tools.match_dtype_to_c_struct(context.devices[0], "pair_of", kind)
    assert laid_out.itemsize == 16
    assert "double b" in text
    assert collector.statistics().compilation == CompilationStatistics()
    assert seam.reads.count == 0
