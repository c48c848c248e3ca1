"""Overrides nest, close in any order, and decide what a launch does."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import pytest

from gpurt_core.execution import (
    LaunchMode,
    OverrideConflict,
    ProcessMode,
    ProcessModeOverride,
    ServiceStream,
    StatisticsCollector,
    StreamMode,
    StreamModeOverride,
)

STREAM = ServiceStream("test:0", 1)
ELSEWHERE = ServiceStream("test:1", 1)


@pytest.fixture(autouse=True)
def _nothing_stays_open() -> Iterator[None]:
    yield
    assert ProcessMode.current() is ProcessMode.EXECUTE
    assert LaunchMode.resolve(STREAM) is LaunchMode.EXECUTE


class UnhashableStream(ServiceStream):
    """A stream that cannot be looked up."""

    def __hash__(self) -> int:
        raise AssertionError("a stream was looked up")


@pytest.mark.parametrize("process_mode", ProcessMode)
@pytest.mark.parametrize("stream_mode", StreamMode)
def test_the_verdict_follows_the_table(process_mode: ProcessMode, stream_mode: StreamMode) -> None:
    expected = {
        (StreamMode.EXECUTE, ProcessMode.EXECUTE): LaunchMode.EXECUTE,
        (StreamMode.EXECUTE, ProcessMode.COMPILE_ONLY): LaunchMode.EXECUTE,
        (StreamMode.EXECUTE, ProcessMode.COMPILE_AND_AUTOTUNE): LaunchMode.EXECUTE,
        (StreamMode.DISCARD, ProcessMode.EXECUTE): LaunchMode.QUEUE,
        (StreamMode.DISCARD, ProcessMode.COMPILE_ONLY): LaunchMode.QUEUE,
        (StreamMode.DISCARD, ProcessMode.COMPILE_AND_AUTOTUNE): LaunchMode.COMPILE,
    }
    with (
        ProcessModeOverride(process_mode, StatisticsCollector()),
        StreamModeOverride(stream_mode, STREAM),
    ):
        assert LaunchMode.resolve(STREAM) is expected[stream_mode, process_mode]


@pytest.mark.parametrize("process_mode", ProcessMode)
def test_a_launch_looks_nothing_up_unless_an_override_says_otherwise_than_the_process(
    process_mode: ProcessMode,
) -> None:
    unhashable = UnhashableStream("test:0", 2)
    other = next(mode for mode in StreamMode if mode is not process_mode.stream_mode)
    with ProcessModeOverride(process_mode, StatisticsCollector()):
        LaunchMode.resolve(unhashable)
        with StreamModeOverride(process_mode.stream_mode, STREAM):
            LaunchMode.resolve(unhashable)
        with (
            StreamModeOverride(other, STREAM),
            pytest.raises(AssertionError, match="looked up"),
        ):
            LaunchMode.resolve(unhashable)
        LaunchMode.resolve(unhashable)


def test_a_stream_keeps_its_mode_while_the_process_changes_its_own() -> None:
    with StreamModeOverride(StreamMode.EXECUTE, STREAM):
        assert LaunchMode.resolve(STREAM) is LaunchMode.EXECUTE
        with ProcessModeOverride(ProcessMode.COMPILE_ONLY, StatisticsCollector()):
            assert LaunchMode.resolve(STREAM) is LaunchMode.EXECUTE
            assert LaunchMode.resolve(ELSEWHERE) is LaunchMode.QUEUE


@pytest.mark.parametrize("seed", range(20))
def test_overrides_of_a_stream_close_in_any_order(seed: int) -> None:
    chance = random.Random(seed)
    live: list[StreamModeOverride] = []
    with ProcessModeOverride(ProcessMode.COMPILE_AND_AUTOTUNE, StatisticsCollector()):
        for _ in range(40):
            if live and chance.random() < 0.5:
                live.pop(chance.randrange(len(live))).close()
            else:
                live.append(StreamModeOverride(chance.choice([*StreamMode]), STREAM).open())
            mode = live[-1].mode if live else StreamMode.DISCARD
            assert LaunchMode.resolve(STREAM) is LaunchMode.of(
                mode, ProcessMode.COMPILE_AND_AUTOTUNE
            )
            assert LaunchMode.resolve(ELSEWHERE) is LaunchMode.COMPILE
        for override in live:
            override.close()


@pytest.mark.parametrize("seed", range(20))
def test_overrides_of_the_process_close_in_any_order_and_the_last_one_out_closes(
    seed: int,
) -> None:
    chance = random.Random(seed)
    collector = StatisticsCollector()
    live = [ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector).open() for _ in range(5)]
    chance.shuffle(live)
    while live:
        assert ProcessMode.current() is ProcessMode.COMPILE_ONLY
        live.pop().close()
    assert ProcessMode.current() is ProcessMode.EXECUTE


def test_one_override_opens_and_closes_as_often_as_it_is_entered() -> None:
    override = ProcessModeOverride(ProcessMode.COMPILE_ONLY, StatisticsCollector())
    streams = StreamModeOverride(StreamMode.EXECUTE, STREAM)
    with override, streams:
        with override, streams:
            pass
        assert LaunchMode.resolve(STREAM) is LaunchMode.EXECUTE
        assert LaunchMode.resolve(ELSEWHERE) is LaunchMode.QUEUE


def test_a_close_too_many_closes_nobody_elses() -> None:
    collector = StatisticsCollector()
    mine = ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector)
    stream = StreamModeOverride(StreamMode.EXECUTE, STREAM)
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
        with StreamModeOverride(StreamMode.EXECUTE, STREAM):
            for closable in (mine, stream):
                closable.open()
                closable.close()
                closable.close()
            assert LaunchMode.resolve(STREAM) is LaunchMode.EXECUTE
        assert ProcessMode.current() is ProcessMode.COMPILE_ONLY


def test_a_conflict_says_what_is_open_and_what_to_do() -> None:
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, StatisticsCollector("the session")) as open:
        with pytest.raises(OverrideConflict, match=r"mode COMPILE_ONLY is open; close"):
            ProcessModeOverride(ProcessMode.EXECUTE, open.collector).open()
        with pytest.raises(OverrideConflict, match=r"collector the session is open; close"):
            ProcessModeOverride(ProcessMode.COMPILE_ONLY, StatisticsCollector()).open()


def test_a_process_override_holds_on_every_thread() -> None:
    seen: list[LaunchMode] = []
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, StatisticsCollector()):
        thread = threading.Thread(target=lambda: seen.append(LaunchMode.resolve(STREAM)))
        thread.start()
        thread.join()
    assert seen == [LaunchMode.QUEUE]


def test_threads_that_open_and_close_leave_nothing_behind_and_see_whole_moments() -> None:
    collector = StatisticsCollector()
    verdicts: set[LaunchMode] = set()

    def measure() -> None:
        for _ in range(200):
            with (
                ProcessModeOverride(ProcessMode.COMPILE_AND_AUTOTUNE, collector),
                StreamModeOverride(StreamMode.EXECUTE, STREAM),
            ):
                verdicts.add(LaunchMode.resolve(STREAM))

    threads = [threading.Thread(target=measure) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == {LaunchMode.EXECUTE}
