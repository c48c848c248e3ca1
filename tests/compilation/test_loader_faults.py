"""However a batch ends, nothing of it stays unsettled, and the loader goes on."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from gpurt_core.compilation import CompilationError
from gpurt_core.execution import CompilationStatistics, KernelRegistration, StatisticsCollector
from tests.compilation.number_target import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()


def breaking(number: int, error: BaseException) -> object:
    def broken(other: int) -> None:
        if other == number:
            raise error

    return broken


FAULTY_STEPS = ["on_lower", "on_finalize", "on_stored", "on_load", "on_store"]


@pytest.mark.parametrize("error", [OSError("broke"), KeyboardInterrupt(), SystemExit(3)], ids=repr)
@pytest.mark.parametrize("step", FAULTY_STEPS)
def test_what_breaks_a_batch_is_raised_and_leaves_nothing_unsettled(
    bench: Bench, step: str, error: BaseException
) -> None:
    owner = bench.compiler if hasattr(bench.compiler, step) else bench.target
    setattr(owner, step, breaking(2, error))
    bench.queue(*range(6))
    with pytest.raises(type(error)) as caught:
        bench.load(6)
    assert caught.value is error
    assert bench.counted.registered == bench.counted.settled == 7
    assert len(bench.events) == 7
    setattr(owner, step, lambda number: None)
    bench.queue(*range(7))
    bench.loader.compile_queued()
    assert all(bench.loader.get(number) for number in range(7))
    assert bench.counted.registered == bench.counted.settled


def test_a_source_that_breaks_breaks_the_batch(bench: Bench) -> None:
    def broken(number: int) -> str:
        raise ZeroDivisionError("no source")

    bench.compiler.source_of = broken
    with pytest.raises(ZeroDivisionError, match="no source"):
        bench.load(1)
    assert bench.counted == CompilationStatistics(registered=1, abandoned=1)


def test_what_the_batch_finished_before_it_broke_is_kept() -> None:
    bench = Bench(parallelism=1)
    bench.compiler.on_lower = breaking(2, ValueError("broke"))  # type: ignore[assignment]
    bench.queue(0, 1, 2, 3)
    with pytest.raises(ValueError, match="broke"):
        bench.loader.compile_queued()
    assert [bench.loader.get(number) for number in (0, 1)] == [
        "loaded artifact 0",
        "loaded artifact 1",
    ]
    assert bench.counted == CompilationStatistics(registered=4, compiled=2, stored=2, abandoned=2)


def test_what_workers_hand_in_after_the_batch_broke_is_dropped(bench: Bench) -> None:
    release = threading.Event()

    def slow_or_broken(number: int) -> None:
        if number == 1:
            raise ValueError("broke")
        release.wait(10)

    bench.compiler.on_lower = slow_or_broken
    bench.queue(0, 1)
    with pytest.raises(ValueError, match="broke"):
        bench.loader.compile_queued()
    counted = bench.counted
    assert counted == CompilationStatistics(registered=2, abandoned=2)
    release.set()
    time.sleep(0.02)
    assert bench.counted == counted
    bench.compiler.on_lower = lambda number: None
    assert bench.load(0) == "loaded artifact 0"


def test_an_interrupt_while_it_compiles_ends_the_batch_at_once(bench: Bench) -> None:
    release = threading.Event()
    bench.compiler.on_finalize = lambda number: release.wait(10)
    bench.queue(*range(8))
    interrupt = threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGINT])
    # Where a shell has put the tests into the background interrupts are ignored.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupt.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            bench.loader.compile_queued()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert not release.is_set()
    assert bench.counted == CompilationStatistics(registered=8, abandoned=8)
    release.set()


def test_a_worker_that_cannot_start_breaks_the_batch(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    bench.queue(0, 1)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", exhausted)
        with pytest.raises(RuntimeError, match="can't start"):
            bench.loader.compile_queued()
    assert bench.counted == CompilationStatistics(registered=2, abandoned=2)
    assert bench.load(0) == "loaded artifact 0"


def test_a_target_and_an_observer_may_get_queue_and_load_other_kernels(bench: Bench) -> None:
    seen: list[object] = []

    def load_another(id: int) -> None:
        seen.append(bench.loader.get(id))
        if id < 10:
            seen.append(bench.load(id + 10))
            bench.queue(100)
            bench.loader.compile_queued()

    bench.target.on_load = load_another
    assert bench.load(1) == "loaded artifact 1"
    assert seen == [None, None, "loaded artifact 11", None]
    assert bench.loader.get(100) == "loaded artifact 100"


def test_a_kernel_whose_load_waits_for_itself_is_told_so(bench: Bench) -> None:
    bench.target.on_load = lambda id: bench.load(id)
    with pytest.raises(RuntimeError, match="its own load"):
        bench.load(1)
    assert bench.counted.registered == bench.counted.settled == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_of_a_fork_has_an_empty_queue_keeps_what_is_loaded_and_goes_on(
    bench: Bench,
) -> None:
    compiling, release = threading.Event(), threading.Event()

    def slow(number: int) -> None:
        compiling.set()
        release.wait(10)

    bench.load(1)
    bench.compiler.on_lower = slow
    bench.queue(2)
    other = threading.Thread(target=bench.loader.compile_queued)
    other.start()
    compiling.wait(10)
    bench.queue(3)
    child = os.fork()
    if not child:
        os._exit(0 if _goes_on(bench) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert bench.loader.queued_ids() == (3,)
    release.set()
    other.join()
    assert bench.loader.get(2) == "loaded artifact 2"


def _goes_on(bench: Bench) -> bool:
    bench.compiler.on_lower = lambda number: None
    counts = bench.counted
    return (
        bench.loader.queued_ids() == ()
        and counts.registered == counts.settled == 3
        and bench.loader.get(1) == "loaded artifact 1"
        and [bench.load(number) for number in (2, 3)] == ["loaded artifact 2", "loaded artifact 3"]
    )


def test_a_compiler_that_registers_kernels_itself_counts_where_it_says(bench: Bench) -> None:
    """Workers have no recorder of the batch in force: what they register is their own affair."""
    other = StatisticsCollector()
    bench.compiler.on_lower = lambda number: KernelRegistration.register()
    bench.load(1, other)
    assert other.statistics().compilation.registered == 1


def test_a_failure_of_one_takes_no_other_with_it(bench: Bench) -> None:
    bench.compiler.failing.update([1, 3])
    bench.compiler.failing_to_finalize.add(5)
    bench.queue(*range(8))
    bench.loader.compile_queued()
    assert bench.counted == CompilationStatistics(registered=8, compiled=5, failed=3, stored=5)
    with pytest.raises(CompilationError, match="kernel 3 failed"):
        bench.load(3)
