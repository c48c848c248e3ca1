"""Tuning kernels on a real device: PoCL, through a server and through a queue of PyOpenCL's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy
import pytest

from gpurt_core.environment import Environment
from gpurt_core.execution import (
    AutotuneStatistics,
    ProcessMode,
    ProcessModeOverride,
    StatisticsCollector,
)
from gpurt_core.servers import Kernel, LaunchFailed, Server, ServerArray, connect
from gpurt_core.tune import Measurement, PickBook, Rejected, Tunable, TunableSet, Tuner
from tests.tune.conftest import counts
from tests.tune.opencl_stream import OpenCLStream

WORK = """
__kernel void {name}(__global float *x) {{
    float sum = 0;
    for (int i = 0; i < {rounds}; ++i) sum += native_sin(x[get_global_id(0)] + i);
    x[get_global_id(0)] += sum;
}}
"""
ONLY_64 = Kernel(
    "only64",
    opencl="""
    __attribute__((reqd_work_group_size(64, 1, 1)))
    __kernel void only64(__global float *x) { x[get_global_id(0)] += 1; }
    """,
)
BROKEN = Kernel("broken", opencl="__kernel void broken(__global float *x) { x[0] = nothing; }")
SIZE = 1 << 12


def work(rounds: int) -> Kernel:
    name = f"work{rounds}"
    return Kernel(name, opencl=WORK.format(name=name, rounds=rounds))


@pytest.fixture
def server() -> Iterator[Server]:
    with connect("opencl:0") as server:
        yield server


@pytest.fixture
def array(server: Server) -> ServerArray:
    return server.array(numpy.ones(SIZE, numpy.float32))


def launching(server: Server, kernel: Kernel, block: int) -> Tunable:
    """A candidate that launches a kernel in blocks of so many."""
    return Tunable(
        f"{kernel.name} by {block}",
        lambda x: server.launch(kernel, max(SIZE // block, 1), block, [x]),
        sources=[repr(kernel)],
    )


def test_less_work_wins_and_measuring_leaves_the_users_array(
    server: Server, array: ServerArray, collector: StatisticsCollector, environment: Environment
) -> None:
    told: list[Measurement] = []
    tuner = Tuner("work", book=PickBook(environment), on_measured=told.append)
    tunables = TunableSet(
        lambda x: ("work", x.size),
        [launching(server, work(rounds), 64) for rounds in (2000, 10, 4000)],
        inputs=lambda x: (server.array(numpy.ones(x.shape, x.dtype)),),
    )
    with ProcessModeOverride(ProcessMode.EXECUTE, collector):
        tuner.execute(tunables, array, stream=server.default_stream)
    assert told[0].pick == "work10 by 64"
    assert told[0].margin is not None
    assert told[0].margin > 1
    one = 1 + sum(numpy.sin(1 + numpy.arange(10)))
    assert array.get() == pytest.approx(one, abs=0.02), "it ran on the user's array once"
    assert counts(collector) == AutotuneStatistics(registered=1, measured=1, persisted=1)
    assert collector.statistics().compilation.registered == 3
    (kept,) = environment.picks()
    assert kept.device == server.fingerprint


def test_sizes_that_the_device_refuses_are_listed_with_their_cause(
    server: Server, array: ServerArray, book: PickBook
) -> None:
    told: list[Measurement] = []
    tuner = Tuner("sizes", stream=server.default_stream, book=book, on_measured=told.append)
    tunables = TunableSet(
        lambda x: "sizes",
        [
            launching(server, ONLY_64, 32),
            launching(server, BROKEN, 64),
            launching(server, ONLY_64, 64),
            launching(server, ONLY_64, 8192),
        ],
    )
    tuner.execute(tunables, array)
    server.synchronize()
    assert told[0].pick == "only64 by 64"
    assert set(told[0].failures) == {"only64 by 32", "broken by 64", "only64 by 8192"}
    assert "nothing" in told[0].failures["broken by 64"]


def test_where_the_device_refuses_all_the_first_ones_error_reaches_the_user(
    server: Server, array: ServerArray, environment: Environment, collector: StatisticsCollector
) -> None:
    tuner = Tuner("sizes", stream=server.default_stream, book=PickBook(environment))
    tunables = TunableSet(
        lambda x: "sizes", [launching(server, ONLY_64, 32), launching(server, BROKEN, 64)]
    )
    with ProcessModeOverride(ProcessMode.EXECUTE, collector):
        tuner.execute(tunables, array)
        with pytest.raises(LaunchFailed, match="only64"):
            server.synchronize()
    assert counts(collector) == AutotuneStatistics(registered=1, failed=1)
    assert environment.picks() == []


def test_gathering_queues_the_kernels_of_every_candidate_and_autotuning_finds_them_compiled(
    server: Server, array: ServerArray, book: PickBook
) -> None:
    gathered, tuned = StatisticsCollector(), StatisticsCollector()
    tuner = Tuner("work", stream=server.default_stream, book=book)
    tunables = TunableSet(
        lambda x: "work", [launching(server, work(rounds), 64) for rounds in (10, 3000, 20)]
    )
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, gathered):
        tuner.execute(tunables, array)
        server.compile_queued()
    assert gathered.statistics().compilation.obtained == 3
    assert counts(gathered) == AutotuneStatistics(registered=1)
    with ProcessModeOverride(ProcessMode.COMPILE_AND_AUTOTUNE, tuned):
        tuner.execute(tunables, array)
        server.synchronize()
    assert counts(gathered) == AutotuneStatistics(registered=1, measured=1)
    assert tuned.statistics().compilation.registered == 0


def test_code_that_calls_pyopencl_itself_is_tuned_through_a_queue_with_profiling(
    tmp_path: Path, collector: StatisticsCollector
) -> None:
    stream = OpenCLStream()
    kernels = {rounds: stream.build(work(rounds)) for rounds in (3000, 10)}
    buffer = stream.buffer(numpy.ones(SIZE, numpy.float32))

    def running(rounds: int) -> Callable[[object], None]:
        return lambda buffer: stream.launch(kernels[rounds], SIZE, 64, buffer)

    def unsuited(buffer: object) -> None:
        raise Rejected("needs another device")

    tunables = TunableSet(
        lambda buffer: "work",
        [
            Tunable("much", running(3000)),
            Tunable("little", running(10)),
            Tunable("unsuited", unsuited),
        ],
    )
    for _ in range(2):
        with (
            Environment.open(tmp_path) as environment,
            ProcessModeOverride(ProcessMode.EXECUTE, collector),
        ):
            Tuner("work", stream=stream, book=PickBook(environment)).execute(tunables, buffer)
            (kept,) = environment.picks()
            assert kept.candidate == "little"
    expected = AutotuneStatistics(registered=1, measured=1, persisted=1, recalled=1)
    assert counts(collector) == expected
