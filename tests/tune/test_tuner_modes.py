"""The tuner in every mode: what runs, what is returned, and the exact counts."""

from __future__ import annotations

import pytest

from gpurt_core.environment import Environment
from gpurt_core.execution import (
    AutotuneStatistics,
    ProcessMode,
    ProcessModeOverride,
    StatisticsCollector,
)
from gpurt_core.tune import PickBook, Rejected, Tunable, TunableSet, Tuner, process_book
from tests.tune.conftest import counts
from tests.tune.simulated_stream import SimulatedStream, timed

MEASURED = AutotuneStatistics(registered=1, measured=1)
GATHERED = AutotuneStatistics(registered=1)


def two(stream: SimulatedStream) -> TunableSet:
    """Of which `fast` is the faster."""
    return TunableSet(
        lambda *args: ("two", *args),
        [
            Tunable("slow", timed(stream, "slow", 2e-3)),
            Tunable("fast", timed(stream, "fast", 1e-3)),
        ],
    )


def reject(*args: object) -> str:
    raise Rejected("too many")


def test_executing_measures_once_and_returns_what_the_pick_returned(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    tuner, tunables = Tuner("t", stream=stream, book=book), two(stream)
    with ProcessModeOverride(ProcessMode.EXECUTE, collector):
        assert tuner.execute(tunables, 8) == "fast"
        sampled = len(stream.launched)
        assert tuner.execute(tunables, 8) == "fast"
    assert stream.launched[sampled - 1 :] == ["fast", "fast"]
    assert counts(collector) == MEASURED


def test_outside_an_override_it_measures_and_counts_nowhere(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    tuner, tunables = Tuner("t", stream=stream, book=book), two(stream)
    assert tuner.execute(tunables, 8) == "fast"
    with ProcessModeOverride(ProcessMode.EXECUTE, collector):
        assert tuner.execute(tunables, 8) == "fast"
    assert counts(collector) == AutotuneStatistics()


def test_compiling_only_gathers_a_key_once_and_runs_every_candidate_discarded(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    tuner, tunables = Tuner("t", stream=stream, book=book), two(stream)
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
        assert tuner.execute(tunables, 8) == "slow"
        assert set(stream.discarded) == {"slow", "fast"}
        reached = len(stream.discarded)
        tuner.execute(tunables, 8)
    assert stream.discarded[reached:] == ["slow"]
    assert stream.launched == []
    assert counts(collector) == GATHERED


def test_autotuning_measures_on_a_stream_that_executes_and_discards_the_call(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    tuner, tunables = Tuner("t", stream=stream, book=book), two(stream)
    with ProcessModeOverride(ProcessMode.COMPILE_AND_AUTOTUNE, collector):
        assert tuner.execute(tunables, 8) == "fast"
        assert tuner.execute(tunables, 8) == "fast"
    assert stream.discarded == ["fast", "fast"]
    assert set(stream.launched) == {"slow", "fast"}
    assert counts(collector) == MEASURED


@pytest.mark.parametrize("mode", [ProcessMode.COMPILE_AND_AUTOTUNE, ProcessMode.EXECUTE])
def test_a_gathered_key_settles_to_the_collector_that_gathered_it(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector, mode: ProcessMode
) -> None:
    tuner, tunables, later = (
        Tuner("t", stream=stream, book=book),
        two(stream),
        StatisticsCollector(),
    )
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
        tuner.execute(tunables, 8)
    with ProcessModeOverride(mode, later):
        tuner.execute(tunables, 8)
    assert counts(collector) == MEASURED
    assert counts(later) == AutotuneStatistics()


def test_a_key_picked_before_is_run_discarded_when_compiling_only(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    tuner, tunables = Tuner("t", stream=stream, book=book), two(stream)
    tuner.execute(tunables, 8)
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
        assert tuner.execute(tunables, 8) == "fast"
    assert stream.discarded == ["fast"]
    assert counts(collector) == AutotuneStatistics()


def test_a_new_generation_gathers_and_measures_anew(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    tuner, tunables, second = (
        Tuner("t", stream=stream, book=book),
        two(stream),
        StatisticsCollector(),
    )
    for gathering in (collector, second):
        with ProcessModeOverride(ProcessMode.COMPILE_ONLY, gathering):
            tuner.execute(tunables, 8)
        book.begin_generation()
    assert counts(collector) == counts(second) == GATHERED
    third = StatisticsCollector()
    with ProcessModeOverride(ProcessMode.EXECUTE, third):
        tuner.execute(tunables, 8)
        book.begin_generation()
        tuner.execute(tunables, 8)
    assert counts(collector) == counts(second) == counts(third) == MEASURED


def test_what_is_gathered_and_never_measured_is_abandoned_when_told_or_switched(
    stream: SimulatedStream, collector: StatisticsCollector, environment: Environment
) -> None:
    book = PickBook()
    tuner, tunables = Tuner("t", stream=stream, book=book), two(stream)
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
        tuner.execute(tunables, 1)
        book.abandon_gathered()
        tuner.execute(tunables, 2)
        book.switch(environment)
    assert counts(collector) == AutotuneStatistics(registered=2, abandoned=2)


@pytest.mark.parametrize("mode", list(ProcessMode))
def test_a_single_candidate_is_called_and_counts_nowhere(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector, mode: ProcessMode
) -> None:
    tunables = TunableSet(lambda n: n, [Tunable("only", timed(stream, "only", 1.0))])
    with ProcessModeOverride(mode, collector):
        assert Tuner("t", stream=stream, book=book).execute(tunables, 8) == "only"
    assert len(stream.launched + stream.discarded) == 1
    assert counts(collector) == AutotuneStatistics()


def nested(tuner: Tuner, stream: SimulatedStream) -> TunableSet:
    """A candidate of which reaches another key."""
    inner = two(stream)
    return TunableSet(
        lambda n: ("outer", n),
        [
            Tunable("through", lambda n: tuner.execute(inner, n)),
            Tunable("direct", timed(stream, "direct", 5e-3)),
        ],
    )


def test_keys_inside_candidates_are_not_gathered_but_their_candidates_run(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    tuner = Tuner("t", stream=stream, book=book)
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
        tuner.execute(nested(tuner, stream), 8)
    assert counts(collector) == GATHERED
    assert set(stream.discarded) == {"slow", "fast", "direct"}


def test_keys_inside_candidates_register_when_they_are_measured(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    tuner, later = Tuner("t", stream=stream, book=book), StatisticsCollector()
    tunables = nested(tuner, stream)
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
        tuner.execute(tunables, 8)
    with ProcessModeOverride(ProcessMode.COMPILE_AND_AUTOTUNE, later):
        assert tuner.execute(tunables, 8) == "fast"
    assert counts(collector) == MEASURED
    assert counts(later) == MEASURED


def test_what_measuring_a_key_inside_takes_is_not_the_outer_candidates_time(
    stream: SimulatedStream, book: PickBook
) -> None:
    seen: list[dict[str, float]] = []
    tuner = Tuner(
        "t",
        stream=stream,
        book=book,
        on_measured=lambda m: seen.append({n: s.median for n, s in m.scores.items()}),
    )
    tuner.execute(nested(tuner, stream), 8)
    inner, outer = seen
    assert inner == {"slow": pytest.approx(2e-3), "fast": pytest.approx(1e-3)}
    assert outer == {"through": pytest.approx(1e-3), "direct": pytest.approx(5e-3)}


def test_compiling_only_returns_what_the_first_candidate_that_works_returned(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    tunables = TunableSet(
        lambda n: n, [Tunable("no", reject), Tunable("yes", timed(stream, "yes", 1.0))]
    )
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
        assert Tuner("t", stream=stream, book=book).execute(tunables, 8) == "yes"
    assert counts(collector) == GATHERED


def test_measuring_is_given_inputs_of_its_own_once_and_leaves_the_users(
    stream: SimulatedStream, book: PickBook
) -> None:
    made: list[list[int]] = []

    def copies(values: list[int]) -> tuple[list[int]]:
        made.append(list(values))
        return (made[-1],)

    def appending(name: str, seconds: float) -> Tunable:
        run = timed(stream, name, seconds)
        return Tunable(name, lambda values: (values.append(1), run())[1])

    tunables = TunableSet(
        lambda values: "append",
        [appending("a", 1e-3), appending("b", 2e-3)],
        inputs=copies,
    )
    mine: list[int] = []
    assert Tuner("t", stream=stream, book=book).execute(tunables, mine) == "a"
    assert mine == [1]
    assert len(made) == 1
    assert len(made[0]) > 6


def test_tuners_of_one_name_share_their_picks_in_the_book_of_the_process(
    stream: SimulatedStream, collector: StatisticsCollector
) -> None:
    with ProcessModeOverride(ProcessMode.EXECUTE, collector):
        for name in ("shared", "shared", "other"):
            Tuner(name, stream=stream).execute(two(stream), "process")
    process_book.begin_generation()
    assert counts(collector) == AutotuneStatistics(registered=2, measured=2)


def test_a_pick_is_for_one_device_and_one_key(
    book: PickBook, collector: StatisticsCollector
) -> None:
    with ProcessModeOverride(ProcessMode.EXECUTE, collector):
        for device in ("one 1.0", "one 1.0", "one 1.1", "two 1.0"):
            stream = SimulatedStream(device)
            for key in (1, 1.0, True, "1"):
                Tuner("t", stream=stream, book=book).execute(two(stream), key)
    assert counts(collector) == AutotuneStatistics(registered=12, measured=12)


def test_a_stream_must_be_given_somewhere(stream: SimulatedStream, book: PickBook) -> None:
    with pytest.raises(TypeError, match="tuner 't' has no stream: give execute"):
        Tuner("t", book=book).execute(two(stream), 8)
    assert Tuner("t", book=book).execute(two(stream), 8, stream=stream) == "fast"
