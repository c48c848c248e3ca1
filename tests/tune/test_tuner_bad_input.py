"""Sets, keys and candidates that cannot be tuned: one clear error each, and nothing lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpurt_core.execution import (
    AutotuneStatistics,
    ProcessMode,
    ProcessModeOverride,
    StatisticsCollector,
)
from gpurt_core.tune import (
    BadTunableSet,
    BadTuneKey,
    PickBook,
    Tunable,
    TunableSet,
    Tuner,
    TuneRecursion,
)
from tests.tune.conftest import counts
from tests.tune.simulated_stream import SimulatedStream, raising, timed


def test_a_tuner_used_inside_its_own_candidate_for_the_same_key_is_a_clear_error(
    tuner: Tuner, stream: SimulatedStream, collector: StatisticsCollector
) -> None:
    tunables: TunableSet = TunableSet(
        lambda n: ("loop", n),
        [
            Tunable("itself", lambda n: tuner.execute(tunables, n)),
            Tunable("other", timed(stream, "other", 1.0)),
        ],
    )
    with pytest.raises(TuneRecursion, match=r"tuner 't' was asked for key \[\"loop\",8\] inside"):
        tuner.execute(tunables, 8)
    assert counts(collector) == AutotuneStatistics(registered=1, abandoned=1)


def test_so_it_is_when_compiling_only(
    stream: SimulatedStream, book: PickBook, collector: StatisticsCollector
) -> None:
    tuner = Tuner("t", stream=stream, book=book)
    tunables: TunableSet = TunableSet(
        lambda: 1,
        [
            Tunable("other", timed(stream, "other", 1.0)),
            Tunable("itself", lambda: tuner.execute(tunables)),
        ],
    )
    with (
        ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector),
        pytest.raises(TuneRecursion, match="inside a candidate for that key"),
    ):
        tuner.execute(tunables)
    assert counts(collector) == AutotuneStatistics(registered=1, abandoned=1)


def test_a_key_that_is_not_json_registers_nothing(
    tuner: Tuner, stream: SimulatedStream, collector: StatisticsCollector
) -> None:
    tunables = TunableSet(lambda x: {x}, [Tunable("a", raising(None)), Tunable("b", raising(None))])
    with pytest.raises(BadTuneKey, match=r"tune key \{8\} does not encode to JSON"):
        tuner.execute(tunables, 8)
    assert counts(collector) == AutotuneStatistics()
    assert stream.launched == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TunableSet(lambda: 1, []), "without candidates"),
        (lambda: TunableSet(lambda: 1, [Tunable("a", print)], [[]]), "without candidates"),
        (
            lambda: TunableSet(lambda: 1, [Tunable("a", print)], [[Tunable("a", print)]]),
            "two candidates are named 'a'",
        ),
        (lambda: Tunable("a", 3), "candidate 'a' is not callable: 3"),  # type: ignore[arg-type]
        (lambda: Tunable("a", print, sources="int a;"), "candidate 'a': sources='int a;' is not"),
        (lambda: Tunable("a", print, sources=[3]), "is not a list of texts"),  # type: ignore[list-item]
    ],
)
def test_a_set_that_cannot_be_tuned_is_refused_when_it_is_made(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(BadTunableSet, match=message):
        make()
