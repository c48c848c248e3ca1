"""The loader under several threads: each kernel compiles once, and nobody waits for ever."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable

import pytest

from gpurt_core.compilation import CompilationError, LoadRefused
from gpurt_core.execution import CompilationStatistics, StatisticsCollector
from tests.compilation.number_target import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()


def on_threads(*works: Callable[[], object]) -> None:
    """Runs `works` at once, each on a thread; raises what one of them raised."""
    barrier = threading.Barrier(len(works))
    errors: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        barrier.wait(10)
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=[work], daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive(), "a thread waits for ever"
    if errors:
        raise errors[0]


def test_a_batch_compiles_on_at_most_as_many_threads_as_it_may() -> None:
    bench = Bench(parallelism=3)
    bench.compiler.seconds = 0.005
    bench.queue(*range(12))
    bench.loader.compile_queued()
    assert bench.compiler.most_at_once == 3
    assert threading.get_ident() not in bench.compiler.threads


def test_batches_of_several_threads_share_the_workers() -> None:
    bench = Bench(parallelism=2)
    bench.compiler.seconds = 0.005
    on_threads(*(lambda n=n: bench.load(n) for n in range(6)))
    assert bench.compiler.most_at_once <= 2
    assert bench.counted == CompilationStatistics(registered=6, compiled=6, stored=6)


def test_a_target_is_called_on_the_thread_that_asked(bench: Bench) -> None:
    bench.compiler.source_of = lambda number: str(number % 3)
    bench.queue(*range(9))
    bench.loader.compile_queued()
    assert bench.target.threads == {threading.get_ident()}


def test_workers_end_when_there_is_nothing_to_do(bench: Bench) -> None:
    bench.load(1)
    stop = time.monotonic() + 5
    while any(thread.name == "gpurt-compile" for thread in threading.enumerate()):
        assert time.monotonic() < stop
        time.sleep(0.001)


def test_one_kernel_that_many_threads_load_compiles_once(bench: Bench) -> None:
    bench.compiler.seconds = 0.01
    loaded: list[str] = []
    on_threads(*[lambda: loaded.append(bench.load(1))] * 8)
    assert loaded == ["loaded artifact 1"] * 8
    assert bench.compiler.lowered == [1]
    assert bench.counted == CompilationStatistics(registered=1, compiled=1, stored=1)


def test_all_threads_that_wait_for_a_kernel_get_its_failure(bench: Bench) -> None:
    bench.compiler.seconds = 0.02
    bench.compiler.failing.add(1)
    errors: list[CompilationError] = []

    def load() -> None:
        with pytest.raises(CompilationError, match="kernel 1 failed") as caught:
            bench.load(1)
        errors.append(caught.value)

    on_threads(*[load] * 4)
    assert len({id(error) for error in errors}) == 4, "each raises one of its own"
    assert bench.compiler.lowered == [1]


def test_a_load_is_not_kept_waiting_by_another_threads_long_batch() -> None:
    bench = Bench(parallelism=1)
    bench.compiler.seconds = 0.005
    bench.queue(*range(50))
    batch = threading.Thread(target=bench.loader.compile_queued)
    batch.start()
    while not bench.compiler.lowered:
        time.sleep(0.001)
    bench.load(100)
    assert len(bench.compiler.finalized) < 25
    bench.loader.compile_queued()
    assert bench.counted.settled == 51, "compiling the queue waits for the batches of others"
    batch.join()


def test_a_kernel_that_is_queued_while_it_compiles_is_left_alone(bench: Bench) -> None:
    compiling, release = threading.Event(), threading.Event()

    def slow(number: int) -> None:
        compiling.set()
        release.wait(10)

    bench.compiler.on_lower = slow
    second = StatisticsCollector()

    def meanwhile() -> None:
        compiling.wait(10)
        bench.queue(1)
        assert bench.counted.registered == 1
        bench.loader.begin_generation()
        bench.queue(1, collector=second)
        assert bench.loader.queued_count == 0
        release.set()

    on_threads(lambda: bench.load(1), meanwhile)
    assert bench.compiler.lowered == [1]
    assert bench.counted.compiled == 1
    assert second.statistics().compilation == CompilationStatistics(registered=1, loaded=1)
    assert bench.loader.get(1) == "loaded artifact 1", "it is of the new generation too"


def test_a_load_tries_again_where_another_threads_batch_broke_over_another_kernel(
    bench: Bench,
) -> None:
    waiting = threading.Event()

    def broken_later(number: int) -> None:
        waiting.wait(10)
        if number == 2 and bench.compiler.lowered.count(2) == 1:
            raise ValueError("broke")

    bench.compiler.on_lower = broken_later
    bench.queue(1, 2)
    errors: list[ValueError] = []

    def batch() -> None:
        with pytest.raises(ValueError, match="broke") as caught:
            bench.loader.compile_queued()
        errors.append(caught.value)

    def load() -> None:
        while not bench.compiler.lowered:
            time.sleep(0.001)
        threading.Timer(0.02, waiting.set).start()
        assert bench.load(1) == "loaded artifact 1"

    on_threads(batch, load)
    assert len(errors) == 1
    assert bench.counted.registered == bench.counted.settled


def test_a_kernel_whose_source_another_finalizes_does_not_block_a_worker() -> None:
    bench = Bench(parallelism=2)
    bench.compiler.source_of = lambda number: "shared" if number < 4 else str(number)
    lone = threading.Event()

    def wait_for_the_lone_one(id: int) -> None:
        if id == 4:
            lone.set()
        elif not lone.wait(10):
            raise ValueError("no worker was free")

    bench.compiler.on_finalize = wait_for_the_lone_one
    bench.queue(*range(5))
    bench.loader.compile_queued()
    counted = bench.counted
    assert (counted.compiled, counted.loaded) == (2, 3)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_threads_do_at_once_everything_settles_and_compiles_at_most_once(
    seed: int,
) -> None:
    bench = Bench(parallelism=3)
    bench.target.persists = False
    stop = time.monotonic() + 0.15

    def work(chance: random.Random) -> Callable[[], None]:
        def run() -> None:
            while time.monotonic() < stop:
                number = chance.randrange(200)
                what = chance.random()
                if what < 0.5:
                    bench.queue(number)
                elif what < 0.9:
                    assert bench.load(number) == f"loaded artifact {number}"
                else:
                    bench.loader.compile_queued()

        return run

    on_threads(*(work(random.Random(f"{seed} {place}")) for place in range(4)))
    bench.loader.compile_queued()
    assert len(bench.compiler.lowered) == len(set(bench.compiler.lowered))
    counted = bench.counted
    assert counted == CompilationStatistics(counted.registered, compiled=counted.registered)
    assert counted.registered == len(bench.compiler.lowered) == len(bench.events)


def test_generations_failures_and_dropped_queues_under_threads_leave_nothing_unsettled() -> None:
    bench = Bench(parallelism=2)
    bench.compiler.failing.update(range(0, 40, 7))
    bench.target.refusing.update(range(0, 40, 5))
    bench.compiler.source_of = lambda number: str(number // 2)
    stop = time.monotonic() + 0.3

    def work(chance: random.Random) -> Callable[[], None]:
        def run() -> None:
            while time.monotonic() < stop:
                what = chance.random()
                if what < 0.05:
                    bench.loader.begin_generation()
                elif what < 0.1:
                    bench.loader.abandon_queued()
                elif what < 0.6:
                    bench.queue(chance.randrange(40))
                else:
                    load(chance.randrange(40))

        return run

    def load(number: int) -> None:
        with contextlib.suppress(CompilationError, LoadRefused):
            bench.load(number)

    on_threads(*(work(random.Random(place)) for place in range(3)))
    bench.loader.compile_queued()
    counted = bench.counted
    assert counted.registered == counted.settled
    assert counted.stored <= counted.obtained
    assert bench.loader.queued_count == 0
