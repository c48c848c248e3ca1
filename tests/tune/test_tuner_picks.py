"""Picks that outlive a process: recalled, measured again when something changed, never poisoned."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path

import pytest

from gpurt_core.environment import Environment
from gpurt_core.errors import CompilationError
from gpurt_core.execution import (
    AutotuneStatistics,
    ProcessMode,
    ProcessModeOverride,
    StatisticsCollector,
)
from gpurt_core.tune import (
    Measurement,
    PickBook,
    Rejected,
    StoredPick,
    Tunable,
    TunableSet,
    Tuner,
)
from tests.tune.conftest import counts
from tests.tune.simulated_stream import SimulatedStream, raising, timed

KEPT = AutotuneStatistics(registered=1, measured=1, persisted=1)
RECALLED = AutotuneStatistics(recalled=1)
MEASURED = AutotuneStatistics(registered=1, measured=1)


def two(stream: SimulatedStream, *sources: str, names: tuple[str, str] = ("a", "b")) -> TunableSet:
    """Of which the second is the faster."""
    slow, fast = names
    return TunableSet(
        lambda *args: args,
        [
            Tunable(slow, timed(stream, slow, 2.0), sources=sources),
            Tunable(fast, timed(stream, fast, 1.0)),
        ],
    )


def run(
    environment: Environment,
    stream: SimulatedStream,
    tunables: TunableSet,
    *,
    tuner: str = "t",
    key: object = 8,
    mode: ProcessMode = ProcessMode.EXECUTE,
    told: list[Measurement] | None = None,
) -> tuple[object, AutotuneStatistics]:
    """What another run of one call gives and counts."""
    collector = StatisticsCollector()
    book = PickBook(environment, on_measured=None if told is None else told.append)
    with ProcessModeOverride(mode, collector):
        result = Tuner(tuner, stream=stream, book=book).execute(tunables, key)
    return result, counts(collector)


def keep(environment: Environment, tunables: TunableSet, candidate: str) -> None:
    """As if another run had picked it."""
    samples = {candidate: [1.0]}
    environment.store_pick(
        StoredPick("simulated 1.0", "t", "[8]", tunables.checksum, candidate, samples, 0.0)
    )


@pytest.mark.parametrize("mode", list(ProcessMode))
def test_another_run_recalls_and_measures_nothing(
    environment: Environment, stream: SimulatedStream, mode: ProcessMode
) -> None:
    assert run(environment, stream, two(stream)) == ("b", KEPT)
    ran = len(stream.launched + stream.discarded)
    assert run(environment, stream, two(stream), mode=mode) == ("b", RECALLED)
    assert len(stream.launched + stream.discarded) == ran + 1


def test_a_key_is_recalled_once_in_a_generation(
    environment: Environment, stream: SimulatedStream, collector: StatisticsCollector
) -> None:
    run(environment, stream, two(stream))
    book = PickBook(environment)
    tuner, tunables = Tuner("t", stream=stream, book=book), two(stream)
    with ProcessModeOverride(ProcessMode.EXECUTE, collector):
        for _ in range(3):
            tuner.execute(tunables, 8)
        book.begin_generation()
        tuner.execute(tunables, 8)
    assert counts(collector) == AutotuneStatistics(recalled=2)


def test_what_is_kept_says_who_won_by_which_samples(
    environment: Environment, stream: SimulatedStream
) -> None:
    run(environment, stream, two(stream))
    (kept,) = environment.picks()
    assert (kept.device, kept.tuner, kept.key, kept.candidate) == (
        "simulated 1.0",
        "t",
        "[8]",
        "b",
    )
    assert set(kept.samples) == {"a", "b"}
    assert max(kept.samples["b"]) < min(kept.samples["a"])


Change = Callable[[SimulatedStream], tuple[SimulatedStream, TunableSet, str, object]]


@pytest.mark.parametrize(
    "change",
    [
        lambda s: (s, two(s, "int changed;"), "t", 8),
        lambda s: (s, two(s, names=("a", "c")), "t", 8),
        lambda s: (s, two(s, names=("b", "a")), "t", 8),
        lambda s: (s, two(s), "another tuner", 8),
        lambda s: (s, two(s), "t", 8.0),
        *(
            lambda s, device=device: ((o := SimulatedStream(device)), two(o), "t", 8)
            for device in ("another device 1.0", "simulated 1.1", "simulated 1.0 compiler 2")
        ),
    ],
)
def test_what_changes_the_work_or_the_device_measures_again(
    environment: Environment, stream: SimulatedStream, change: Change
) -> None:
    run(environment, stream, two(stream, "int start;"))
    other, tunables, tuner, key = change(stream)
    _, found = run(environment, other, tunables, tuner=tuner, key=key)
    assert found == KEPT
    assert run(environment, stream, two(stream, "int start;"))[1] == RECALLED, "both are kept"


def test_a_comment_in_a_source_measures_nothing_again(
    environment: Environment, stream: SimulatedStream
) -> None:
    run(environment, stream, two(stream, "int a;"))
    found = run(environment, stream, two(stream, "// what it is for\nint  a;"))
    assert found == ("b", RECALLED)


def test_a_recalled_key_that_was_gathered_is_not_left_open(
    environment: Environment, stream: SimulatedStream, collector: StatisticsCollector
) -> None:
    book = PickBook(environment)
    tuner, tunables = Tuner("t", stream=stream, book=book), two(stream)
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
        tuner.execute(tunables, 8)
    run(environment, stream, two(stream))  # another process measures it
    with ProcessModeOverride(ProcessMode.EXECUTE, collector):
        tuner.execute(tunables, 8)
    assert counts(collector) == AutotuneStatistics(registered=1, abandoned=1, recalled=1)


def test_an_unmeasured_pick_is_not_kept(environment: Environment, stream: SimulatedStream) -> None:
    def no(*args: object) -> None:
        raise Rejected("no")

    tunables = TunableSet(lambda n: n, [Tunable("a", no), Tunable("b", no)])
    with pytest.raises(Rejected):
        run(environment, stream, tunables)
    assert environment.picks() == []


def test_a_pick_of_a_candidate_that_is_unknown_is_measured_again_and_replaced(
    environment: Environment, stream: SimulatedStream
) -> None:
    tunables = two(stream)
    keep(environment, tunables, "gone")
    assert run(environment, stream, tunables) == ("b", KEPT)
    assert [pick.candidate for pick in environment.picks()] == ["b"]


@pytest.mark.parametrize("error", [Rejected("no"), CompilationError("no such instruction")])
def test_a_kept_pick_that_works_no_more_is_superseded(
    environment: Environment, stream: SimulatedStream, error: Exception
) -> None:
    tunables = TunableSet(
        lambda *args: args,
        [Tunable("poison", raising(error)), *two(stream).candidates],
    )
    keep(environment, tunables, "poison")
    found = AutotuneStatistics(registered=1, measured=1, persisted=1, recalled=1)
    assert run(environment, stream, tunables) == ("b", found)
    assert run(environment, stream, tunables) == ("b", RECALLED)


def test_a_kept_pick_that_works_no_more_is_gathered_when_compiling_only(
    environment: Environment, stream: SimulatedStream
) -> None:
    tunables = TunableSet(
        lambda *args: args,
        [Tunable("poison", raising(Rejected("no"))), *two(stream).candidates],
    )
    keep(environment, tunables, "poison")
    found = AutotuneStatistics(registered=1, recalled=1)
    assert run(environment, stream, tunables, mode=ProcessMode.COMPILE_ONLY) == ("a", found)
    assert stream.launched == []


def test_a_kept_pick_that_breaks_is_the_callers_to_see(
    environment: Environment, stream: SimulatedStream
) -> None:
    broken = ValueError("broken")
    tunables = TunableSet(
        lambda *args: args, [*two(stream).candidates, Tunable("p", raising(broken))]
    )
    keep(environment, tunables, "p")
    with pytest.raises(ValueError, match="broken") as raised:
        run(environment, stream, tunables)
    assert raised.value is broken
    assert stream.launched == [], "nothing is measured"


class Size(IntEnum):
    """A key of these is looked up by its text at each call."""

    EIGHT = 8


@pytest.mark.parametrize("key", [8, Size.EIGHT])
def test_a_kept_pick_that_worked_here_before_stays(
    environment: Environment, stream: SimulatedStream, key: int
) -> None:
    tunables = TunableSet(
        lambda *args: args, [*two(stream).candidates, Tunable("p", raising(None, Rejected("now")))]
    )
    keep(environment, tunables, "p")
    tuner = Tuner("t", stream=stream, book=PickBook(environment))
    assert tuner.execute(tunables, key) == "ran"
    with pytest.raises(Rejected, match="now"):
        tuner.execute(tunables, key)
    assert stream.launched == [], "nothing is measured"


@pytest.mark.parametrize("damage", ["samples = substr(samples, 1, 9)", "candidate = 'a'"])
def test_a_damaged_pick_is_measured_again(
    environment: Environment, stream: SimulatedStream, damage: str
) -> None:
    run(environment, stream, two(stream))
    (file,) = (file for file in environment.path.iterdir() if _is_database(file))
    with sqlite3.connect(file) as connection:
        connection.execute(f"UPDATE picks SET {damage}")
    connection.close()
    assert run(environment, stream, two(stream)) == ("b", KEPT)
    assert environment.health().dropped == 1
    assert run(environment, stream, two(stream)) == ("b", RECALLED)


def test_picks_of_a_newer_version_are_one_clear_line_and_are_left_alone(
    tmp_path: Path, stream: SimulatedStream
) -> None:
    with Environment.open(tmp_path) as environment:
        run(environment, stream, two(stream))
    (file,) = (file for file in tmp_path.iterdir() if _is_database(file))
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = file.read_bytes()
    lines: list[str] = []
    with Environment.open(tmp_path, warn=lines.append) as environment:
        assert run(environment, stream, two(stream)) == ("b", MEASURED)
        assert run(environment, stream, two(stream)) == ("b", MEASURED)
    assert len(lines) == 1
    assert "version" in lines[0]
    assert file.read_bytes() == before


def test_where_nothing_can_be_kept_it_is_measured_and_said(
    tmp_path: Path, stream: SimulatedStream
) -> None:
    (tmp_path / "file").write_text("not a folder")
    lines: list[str] = []
    told: list[Measurement] = []
    with Environment.open(tmp_path / "file" / "below", warn=lines.append) as environment:
        assert run(environment, stream, two(stream), told=told) == ("b", MEASURED)
    assert not told[0].persisted
    assert len(lines) == 1


def _is_database(file: Path) -> bool:
    return file.is_file() and file.read_bytes()[:15] == b"SQLite format 3"
