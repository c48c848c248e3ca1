"""What every server does, whatever is under it."""

from __future__ import annotations

import threading

import numpy
import pytest

from gpurt_core.errors import CompilationError
from gpurt_core.execution import (
    CompilationStatistics,
    IssuedRecorder,
    ProcessMode,
    ServiceStream,
    StatisticsCollector,
    StreamMode,
    StreamModeOverride,
)
from gpurt_core.servers import Kernel, KernelLanguageMissing, LaunchFailed, Server, ServerClosed
from tests.servers.conftest import ADD, BROKEN, DOUBLE, InMode, Store

ONE, TWO = numpy.float32(1), numpy.float32(2)


def test_a_launch_runs_over_the_grid_times_the_block(server: Server) -> None:
    x = server.array(numpy.zeros(100, numpy.float32))
    server.launch(ADD, 3, 32, [x, TWO, numpy.int32(100)])
    assert x.get().tolist() == [2.0] * 96 + [0.0] * 4


def test_launches_of_one_stream_run_in_order(server: Server) -> None:
    x = server.array(numpy.ones(4, numpy.float32))
    for _ in range(5):
        server.launch(ADD, 1, 4, [x, ONE, numpy.int32(4)])
        server.launch(DOUBLE, 1, 4, [x])
    assert x.get().tolist() == [94.0] * 4


def test_arrays_keep_shape_type_and_values(server: Server) -> None:
    values = numpy.arange(24, dtype=numpy.int16).reshape(2, 3, 4)
    array = server.array(values)
    assert (array.shape, array.dtype, array.nbytes, array.size) == ((2, 3, 4), values.dtype, 48, 24)
    assert numpy.array_equal(array.get(), values)
    assert numpy.asarray(array).dtype == numpy.int16
    array.set(values[::-1])
    assert numpy.array_equal(array.get(), values[::-1])


def test_an_array_without_elements_is_an_array(server: Server) -> None:
    assert server.array(numpy.zeros((0, 3))).get().shape == (0, 3)
    assert server.empty((), numpy.int8).get().shape == ()


def test_values_of_another_shape_do_not_fill_an_array(server: Server) -> None:
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        server.empty(4, numpy.int8).set([1, 2, 3])


def test_an_array_of_objects_is_refused(server: Server) -> None:
    with pytest.raises(TypeError, match="Python objects"):
        server.array(numpy.array([object()]))


def test_a_kernel_is_compiled_once_and_counted(server: Server, in_mode: InMode) -> None:
    collector = in_mode(ProcessMode.EXECUTE)
    x = server.array(numpy.zeros(4, numpy.float32))
    for _ in range(3):
        server.launch(DOUBLE, 1, 4, [x])
    server.synchronize()
    expected = CompilationStatistics(registered=1, compiled=1, stored=1)
    assert collector.statistics().compilation == expected


def test_compile_only_queues_and_leaves_buffers_as_they_were(
    server: Server, in_mode: InMode
) -> None:
    collector = in_mode(ProcessMode.COMPILE_ONLY)
    x = server.array(numpy.ones(4, numpy.float32))
    server.launch(DOUBLE, 1, 4, [x])
    server.launch(ADD, 1, 4, [x, ONE, numpy.int32(4)])
    server.synchronize()
    assert collector.statistics().compilation == CompilationStatistics(registered=2)
    assert x.get().tolist() == [1.0] * 4
    server.compile_queued()
    expected = CompilationStatistics(registered=2, compiled=2, stored=2)
    assert collector.statistics().compilation == expected


def test_compile_and_autotune_loads_and_drops_the_launch(server: Server, in_mode: InMode) -> None:
    collector = in_mode(ProcessMode.COMPILE_AND_AUTOTUNE)
    x = server.array(numpy.ones(4, numpy.float32))
    server.launch(DOUBLE, 1, 4, [x])
    assert x.get().tolist() == [1.0] * 4
    expected = CompilationStatistics(registered=1, compiled=1, stored=1)
    assert collector.statistics().compilation == expected


def test_a_launch_that_runs_compiles_what_is_queued_first(server: Server, in_mode: InMode) -> None:
    collector = in_mode(ProcessMode.COMPILE_ONLY)
    x = server.array(numpy.ones(4, numpy.float32))
    server.launch(DOUBLE, 1, 4, [x])
    with StreamModeOverride(StreamMode.EXECUTE, server.default_stream.service_stream):
        server.launch(ADD, 1, 4, [x, ONE, numpy.int32(4)])
    assert x.get().tolist() == [2.0] * 4
    assert collector.statistics().compilation.compiled == 2


def test_the_verdict_is_that_of_the_issuing_moment(server: Server, in_mode: InMode) -> None:
    x = server.array(numpy.ones(4, numpy.float32))
    override = StreamModeOverride(StreamMode.DISCARD, server.default_stream.service_stream)
    with override:
        server.launch(DOUBLE, 1, 4, [x])
    server.launch(ADD, 1, 4, [x, ONE, numpy.int32(4)])
    assert x.get().tolist() == [2.0] * 4


def test_an_override_of_the_same_stream_of_another_service_changes_nothing(server: Server) -> None:
    x = server.array(numpy.ones(4, numpy.float32))
    with StreamModeOverride(StreamMode.DISCARD, ServiceStream("elsewhere", 0)):
        server.launch(DOUBLE, 1, 4, [x])
    assert x.get().tolist() == [2.0] * 4


def test_a_launch_counts_to_the_recorder_of_the_issuing_thread(server: Server) -> None:
    mine, yours = StatisticsCollector("mine"), StatisticsCollector("yours")
    x = server.array(numpy.ones(4, numpy.float32))

    def launch(collector: StatisticsCollector, kernel: Kernel, *more: object) -> None:
        with IssuedRecorder(collector).applied():
            server.launch(kernel, 1, 4, [x, *more])

    threads = [
        threading.Thread(target=launch, args=(mine, DOUBLE)),
        threading.Thread(target=launch, args=(yours, ADD, ONE, numpy.int32(4))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.synchronize()
    assert mine.statistics().compilation.compiled == 1
    assert yours.statistics().compilation.compiled == 1


def test_a_new_generation_obtains_kernels_again(server: Server, in_mode: InMode) -> None:
    collector = in_mode(ProcessMode.EXECUTE)
    x = server.array(numpy.ones(4, numpy.float32))
    server.launch(DOUBLE, 1, 4, [x])
    server.begin_generation()
    server.launch(DOUBLE, 1, 4, [x])
    server.synchronize()
    expected = CompilationStatistics(registered=2, compiled=1, loaded=1, stored=1)
    assert collector.statistics().compilation == expected


def test_a_kernel_that_does_not_compile_is_reported_by_the_next_synchronize(server: Server) -> None:
    x = server.array(numpy.ones(4, numpy.float32))
    server.launch(BROKEN, 2, (4, 2), [x])
    with pytest.raises(
        LaunchFailed, match=r"'broken' .grid 2x1x1, block 4x2x1, stream 0"
    ) as caught:
        server.synchronize()
    failure = caught.value
    assert (failure.kernel, failure.grid, failure.block) == ("broken", (2, 1, 1), (4, 2, 1))
    assert failure.refused
    assert isinstance(failure.cause, CompilationError)
    server.synchronize()


def test_a_failure_is_reported_by_the_read_of_an_array_it_was_given(server: Server) -> None:
    x, y = (server.array(numpy.ones(4, numpy.float32)) for _ in range(2))
    server.launch(BROKEN, 1, 4, [x])
    assert y.get().tolist() == [1.0] * 4
    with pytest.raises(LaunchFailed):
        numpy.asarray(x)
    assert x.get().tolist() == [1.0] * 4


def test_of_several_failures_the_first_is_raised_with_the_others(server: Server) -> None:
    x = server.array(numpy.ones(4, numpy.float32))
    server.launch(BROKEN, 1, 1, [x])
    server.launch(BROKEN, 2, 1, [x])
    server.launch(DOUBLE, 1, 4, [x])
    with pytest.raises(LaunchFailed) as caught:
        server.synchronize()
    assert caught.value.grid == (1, 1, 1)
    assert [other.grid for other in caught.value.others] == [(2, 1, 1)]
    assert "grid 2x1x1" in caught.value.__notes__[0]
    assert x.get().tolist() == [2.0] * 4


def test_a_missing_function_is_named(server: Server) -> None:
    x = server.array(numpy.ones(4, numpy.float32))
    kernel = type(DOUBLE)("thrice", opencl=DOUBLE.opencl, python=DOUBLE.python)
    server.launch(kernel, 1, 4, [x])
    with pytest.raises(LaunchFailed, match="'thrice'"):
        server.synchronize()


def test_a_kernel_in_another_language_is_refused_where_it_is_launched(server: Server) -> None:
    kernel = Kernel("only", cuda='extern "C" __global__ void only() {}')
    with pytest.raises(KernelLanguageMissing, match="written only in cuda: give") as caught:
        server.launch(kernel, 1, 1, [])
    assert caught.value.written == ("cuda",)


@pytest.mark.parametrize(
    ("grid", "block"), [(0, 1), (1, 0), ((1, 1, 1, 1), 1), ((), 1), (1, (4, -1))]
)
def test_sizes_that_cannot_be_are_refused_where_they_are_given(
    server: Server, grid: int, block: int
) -> None:
    with pytest.raises(ValueError, match="each at least 1"):
        server.launch(DOUBLE, grid, block, [])


def test_an_argument_without_a_type_is_refused(server: Server) -> None:
    with pytest.raises(TypeError, match=r"say its type, as numpy.int32\(3\)"):
        server.launch(DOUBLE, 1, 1, [3])


def test_reads_are_told_to_observers(server: Server) -> None:
    seen: list[object] = []
    x = server.array(numpy.ones(4, numpy.float32))
    server.reads.add(seen.append)
    x.get()
    numpy.asarray(x)
    x.set([0, 0, 0, 0])
    server.reads.remove(seen.append)
    x.get()
    assert seen == [x, x]


def test_an_observer_that_breaks_does_not_break_a_read(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.reads.add(lambda array: 1 / 0)
    assert server.array(numpy.ones(1)).get().tolist() == [1.0]
    assert "an observer of reads raised" in caplog.text


def test_an_observer_can_end_a_read(server: Server) -> None:
    class Enough(BaseException):
        pass

    def end(array: object) -> None:
        raise Enough

    server.reads.add(end)
    with pytest.raises(Enough):
        server.array(numpy.ones(1)).get()


def test_profiling_takes_the_time_of_the_launches_on_the_stream(server: Server) -> None:
    x = server.array(numpy.ones(4096, numpy.float32))
    other = server.stream()

    def launch() -> None:
        server.launch(DOUBLE, 64, 64, [x])
        server.launch(DOUBLE, 64, 64, [x], stream=other)

    assert server.profile(launch) > 0
    assert other.profile(launch) > 0
    assert server.profile(lambda: None) == 0.0


def test_profiling_reports_the_failure_of_a_launch_within(server: Server) -> None:
    x = server.array(numpy.ones(4, numpy.float32))
    with pytest.raises(LaunchFailed, match="broken"):
        server.profile(lambda: server.launch(BROKEN, 1, 4, [x]))
    server.synchronize()


def test_profiling_leaves_failures_of_before_where_they_are(server: Server) -> None:
    x = server.array(numpy.ones(4, numpy.float32))
    server.launch(BROKEN, 1, 4, [x])
    assert server.profile(lambda: server.launch(DOUBLE, 1, 4, [x])) > 0
    with pytest.raises(LaunchFailed, match="broken"):
        server.synchronize()


def test_a_stream_says_where_it_is(server: Server) -> None:
    stream = server.stream()
    assert server.default_stream.service_stream == ServiceStream(server.name, 0)
    assert stream.service_stream.service == server.service
    assert stream.id != 0
    assert stream.device == server.fingerprint


def test_a_second_run_loads_what_the_first_one_kept(
    server: Server, store: Store, in_mode: InMode
) -> None:
    x = server.array(numpy.ones(4, numpy.float32))
    server.launch(DOUBLE, 1, 4, [x])
    server.synchronize()
    assert len(store.kept) == 1
    server.begin_generation()
    collector = in_mode(ProcessMode.EXECUTE)
    server.launch(DOUBLE, 1, 4, [x])
    assert x.get().tolist() == [4.0] * 4
    assert collector.statistics().compilation == CompilationStatistics(registered=1, loaded=1)


def test_closing_abandons_what_is_queued(server: Server, in_mode: InMode) -> None:
    collector = in_mode(ProcessMode.COMPILE_ONLY)
    x = server.array(numpy.ones(4, numpy.float32))
    server.launch(DOUBLE, 1, 4, [x])
    server.close()
    assert collector.statistics().compilation == CompilationStatistics(registered=1, abandoned=1)


def test_closing_warns_of_failures_that_nobody_saw(server: Server) -> None:
    x = server.array(numpy.ones(4, numpy.float32))
    server.launch(BROKEN, 1, 4, [x])
    with pytest.warns(RuntimeWarning, match=r"nobody saw.*'broken'"):
        server.close()


def test_a_closed_server_says_so(server: Server) -> None:
    x = server.array(numpy.ones(4, numpy.float32))
    server.close()
    server.close()
    for use in (x.get, server.synchronize, lambda: server.launch(DOUBLE, 1, 4, [x])):
        with pytest.raises(ServerClosed, match="is closed: connect another one"):
            use()


def test_an_array_of_another_server_is_refused(server: Server) -> None:
    x = server.array(numpy.ones(4, numpy.float32))
    server.close()
    from gpurt_core.servers import connect

    with connect(server.name) as other, pytest.raises(ValueError, match="cannot be given"):
        other.launch(DOUBLE, 1, 4, [x])
