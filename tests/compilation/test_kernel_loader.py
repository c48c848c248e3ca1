"""The loader on one thread: what it obtains, counts, keeps and reports."""

from __future__ import annotations

import gc
import weakref

import pytest

from gpurt_core.compilation import CompilationError, KernelEvent, KernelLoader, LoadRefused
from gpurt_core.execution import CompilationStatistics, KernelOutcome, StatisticsCollector
from tests.compilation.number_target import Bench, Loader, NumberCompiler, NumberTarget


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_kernel_goes_through_every_step(bench: Bench) -> None:
    assert bench.load(7) == "loaded artifact 7"
    assert bench.loader.get(7) == "loaded artifact 7"
    assert bench.counted == CompilationStatistics(registered=1, compiled=1, stored=1)


def test_get_never_compiles(bench: Bench) -> None:
    bench.queue(1)
    assert bench.loader.get(1) is None
    assert bench.loader.get(2) is None
    assert bench.compiler.lowered == []


def test_the_queue_can_be_seen(bench: Bench) -> None:
    bench.queue(3, 1, 2, 1)
    assert bench.loader.queued_ids() == (3, 1, 2)
    assert bench.loader.queued_count == 3
    bench.loader.compile_queued()
    assert bench.loader.queued_count == 0


def test_a_loaded_kernel_still_compiles_what_is_queued_before_it_runs(bench: Bench) -> None:
    bench.load(1)
    bench.queue(2)
    bench.load(1)
    assert bench.loader.get(2) == "loaded artifact 2"
    assert bench.counted.registered == 2


def test_what_is_kept_is_loaded_and_neither_compiled_nor_stored_again(bench: Bench) -> None:
    bench.target.kept[1] = "kept"
    assert bench.load(1) == "loaded kept"
    assert bench.compiler.lowered == []
    assert bench.target.stores == []
    assert bench.counted == CompilationStatistics(registered=1, loaded=1)


def test_what_is_kept_for_its_source_is_loaded_and_stored_under_its_own_key(bench: Bench) -> None:
    bench.compiler.source_of = str
    bench.target.by_source["1"] = "kept"
    assert bench.load(1) == "loaded kept"
    assert bench.compiler.finalized == []
    assert bench.counted == CompilationStatistics(registered=1, loaded=1, stored=1)


def test_what_the_compiler_found_is_loaded_and_not_stored_again(bench: Bench) -> None:
    bench.compiler.found.add(1)
    assert bench.load(1) == "loaded found 1"
    assert bench.target.stores == []
    assert bench.counted == CompilationStatistics(registered=1, loaded=1)


def test_a_target_that_keeps_nothing_is_asked_for_nothing(bench: Bench) -> None:
    bench.target.persists = False
    bench.target.kept[1] = "kept"
    bench.compiler.source_of = str
    bench.load(1)
    assert bench.target.stores == []
    assert bench.counted == CompilationStatistics(registered=1, compiled=1)


def test_kernels_that_share_a_source_take_the_first_ones_artifact(bench: Bench) -> None:
    bench.compiler.source_of = lambda number: str(number % 2)
    bench.queue(*range(10))
    bench.loader.compile_queued()
    assert len(bench.compiler.finalized) == 2
    counted = bench.counted
    assert (counted.compiled, counted.loaded, counted.stored) == (2, 8, 10)
    assert {bench.loader.get(number) for number in range(0, 10, 2)} == {
        f"loaded artifact {next(id for id in bench.compiler.finalized if id % 2 == 0)}"
    }


def test_kernels_that_share_a_source_fail_with_it(bench: Bench) -> None:
    bench.compiler.source_of = lambda number: "shared"
    bench.compiler.failing_to_finalize.update(range(3))
    bench.queue(0, 1, 2)
    bench.loader.compile_queued()
    assert len(bench.compiler.finalized) == 1
    assert bench.counted == CompilationStatistics(registered=3, failed=3)
    for number in range(3):
        with pytest.raises(CompilationError, match="was not finalized"):
            bench.load(number)


def test_kernels_without_a_source_share_nothing(bench: Bench) -> None:
    bench.queue(0, 1, 2)
    bench.loader.compile_queued()
    assert sorted(bench.compiler.finalized) == [0, 1, 2]


def test_a_failure_keeps_what_the_compiler_said(bench: Bench) -> None:
    bench.compiler.failing.add(1)
    with pytest.raises(CompilationError, match="kernel 1 failed") as caught:
        bench.load(1)
    assert (caught.value.kernel, caught.value.log) == ("1", "the log")
    assert "lower" in [entry.name for entry in caught.traceback]


def test_a_failure_that_its_own_load_raised_is_not_reported_again(bench: Bench) -> None:
    bench.compiler.failing.add(1)
    for attempt in range(1, 4):
        with pytest.raises(CompilationError):
            bench.load(1)
        assert len(bench.compiler.lowered) == attempt
    assert bench.counted == CompilationStatistics(registered=3, failed=3)


def test_a_failure_is_reported_before_the_queue_is_compiled(bench: Bench) -> None:
    bench.compiler.failing.add(1)
    bench.queue(1)
    bench.loader.compile_queued()
    bench.queue(2)
    with pytest.raises(CompilationError):
        bench.load(1)
    assert bench.loader.queued_ids() == (2,)


def test_a_failed_kernel_that_is_queued_is_tried_again_and_registers_again(bench: Bench) -> None:
    bench.compiler.failing.add(1)
    bench.queue(1)
    bench.loader.compile_queued()
    bench.compiler.failing.clear()
    bench.queue(1)
    assert bench.load(1) == "loaded artifact 1"
    assert bench.counted == CompilationStatistics(registered=2, compiled=1, failed=1, stored=1)


def test_a_failure_that_the_next_batch_finds_unreported_is_dropped(bench: Bench) -> None:
    bench.compiler.failing.add(1)
    bench.queue(1)
    bench.loader.compile_queued()
    bench.loader.compile_queued()  # an empty queue is no batch
    bench.load(2)
    bench.compiler.failing.clear()
    assert bench.load(1) == "loaded artifact 1"


def test_a_refusal_is_reported_once_and_then_tried_again(bench: Bench) -> None:
    bench.target.refusing.add(1)
    bench.queue(1)
    bench.loader.compile_queued()
    with pytest.raises(LoadRefused, match="kernel 1 refused"):
        bench.load(1)
    assert bench.counted == CompilationStatistics(registered=1, compiled=1, refused=1)
    bench.target.refusing.clear()
    assert bench.load(1) == "loaded artifact 1"


def test_under_no_override_nothing_counts(bench: Bench) -> None:
    assert bench.loader.load(1, 1) == "loaded artifact 1"
    assert bench.counted == CompilationStatistics()
    assert bench.events[0].tried_by == ()


def test_each_kernel_settles_as_the_batch_finishes_with_it(bench: Bench) -> None:
    settled: list[int] = []
    bench.target.on_load = lambda id: settled.append(bench.counted.settled)
    bench.queue(*range(5))
    bench.loader.compile_queued()
    assert settled == [1, 2, 3, 4, 5]


def test_the_observer_is_told_of_each_kernel(bench: Bench) -> None:
    bench.compiler.failing.add(1)
    bench.compiler.seconds = 0.005
    bench.target.kept[2] = "kept"
    bench.queue(0, 1, 2, 3)
    bench.loader.compile_queued()
    told = {event.id: event for event in bench.events}
    assert [told[id].outcome for id in range(4)] == [
        KernelOutcome.COMPILED,
        KernelOutcome.FAILED,
        KernelOutcome.LOADED,
        KernelOutcome.COMPILED,
    ]
    assert told[0].seconds > 0.009
    assert told[2].seconds == 0
    assert isinstance(told[1].error, CompilationError)
    assert told[0].error is None
    assert {event.tried_by for event in bench.events} == {(bench.collector,)}


def test_a_broken_observer_breaks_nothing_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def broken(event: KernelEvent) -> None:
        raise ValueError("broken observer")

    loader = KernelLoader(NumberTarget(), parallelism=1, on_settled=broken)
    assert loader.load(1, 1) == "loaded artifact 1"
    assert "broken observer" in caplog.text


def test_dropping_the_queue_settles_it_as_abandoned(bench: Bench) -> None:
    bench.queue(1, 2)
    bench.loader.abandon_queued()
    assert bench.counted == CompilationStatistics(registered=2, abandoned=2)
    assert [event.outcome for event in bench.events] == [KernelOutcome.ABANDONED] * 2
    assert bench.loader.queued_ids() == ()
    assert bench.load(1) == "loaded artifact 1"


def test_a_loader_that_goes_away_abandons_its_queue(bench: Bench) -> None:
    bench.queue(1, 2)
    del bench.loader
    gc.collect()
    assert bench.counted == CompilationStatistics(registered=2, abandoned=2)


def test_a_new_generation_forgets_what_is_loaded_and_what_failed(bench: Bench) -> None:
    bench.compiler.failing.add(1)
    bench.queue(0, 1)
    bench.loader.compile_queued()
    bench.compiler.failing.clear()
    bench.loader.begin_generation()
    assert bench.loader.generation == 1
    assert bench.loader.get(0) is None
    second = StatisticsCollector()
    assert bench.load(1, second) == "loaded artifact 1"
    assert bench.load(0, second) == "loaded artifact 0"
    counted = second.statistics().compilation
    assert (counted.registered, counted.compiled, counted.loaded) == (2, 1, 1)


def test_a_kernel_of_two_generations_counts_as_compiled_once(bench: Bench) -> None:
    second = StatisticsCollector()
    bench.queue(1)
    bench.loader.begin_generation()
    bench.load(1, second)
    bench.queue(1, collector=second)
    assert bench.counted == CompilationStatistics(registered=1, compiled=1, stored=1)
    assert second.statistics().compilation == CompilationStatistics(registered=1, loaded=1)
    assert [event.tried_by for event in bench.events] == [(bench.collector, second)]


@pytest.mark.parametrize("step", ["failing", "refusing"])
def test_a_kernel_of_two_generations_that_fails_fails_for_both(bench: Bench, step: str) -> None:
    (bench.compiler.failing if step == "failing" else bench.target.refusing).add(1)
    second = StatisticsCollector()
    bench.queue(1)
    bench.loader.begin_generation()
    with pytest.raises((CompilationError, LoadRefused)):
        bench.load(1, second)
    for counted in (bench.counted, second.statistics().compilation):
        assert counted.registered == counted.settled == counted.failed + counted.refused == 1


def test_a_generation_that_begins_during_a_batch_obtains_its_kernels_again(bench: Bench) -> None:
    bench.target.on_load = lambda id: bench.loader.begin_generation()
    assert bench.load(1) == "loaded artifact 1"
    assert bench.loader.get(1) is None


def test_a_failure_holds_nothing_of_the_test_alive(bench: Bench) -> None:
    """A test's arrays go when it ends, without waiting for the collector of cycles."""

    class Array:
        pass

    def fails(number: int) -> weakref.ref[Array]:
        array = Array()
        with pytest.raises((CompilationError, LoadRefused, ValueError)):
            bench.load(number)
        return weakref.ref(array)

    def broken(number: int) -> None:
        if number == 4:
            raise ValueError("broke")

    bench.compiler.on_lower = broken
    bench.compiler.failing.update([1, 2])
    bench.target.refusing.add(3)
    bench.queue(1, 3)
    bench.loader.compile_queued()
    gc.collect()
    gc.disable()
    try:
        alive = [fails(number) for number in (1, 2, 3, 4)]
        assert [reference() for reference in alive] == [None] * 4
    finally:
        gc.enable()
    assert any(event.error for event in bench.events)


def test_parallelism_is_at_least_one_and_by_default_what_the_process_may_use() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        KernelLoader(NumberTarget(), parallelism=0)
    assert KernelLoader(NumberTarget()).parallelism >= 1


def test_a_batch_begins_with_what_is_expected_to_take_longest() -> None:
    compiler = NumberCompiler()
    loader: Loader = KernelLoader(NumberTarget(compiler), parallelism=1)
    for number in range(5):
        loader.enqueue(number, number)
    loader.prioritise({1: 0.1, 3: 5.0}, otherwise=1.0)
    loader.compile_queued()
    assert compiler.lowered == [3, 0, 2, 4, 1]
