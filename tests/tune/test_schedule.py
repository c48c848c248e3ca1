"""The schedule, against simulated timers: who is sampled, when it ends, who is picked."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from gpurt_core.tune import Schedule, ScheduleOptions

Timer = Callable[[str], float]


def follow(schedule: Schedule, timer: Timer) -> list[str]:
    """Does as the schedule says; gives the order of the samples."""
    order = []
    while (name := schedule.next()) is not None:
        order.append(name)
        schedule.record(name, timer(name))
    return order


def steady(times: Mapping[str, float]) -> Timer:
    """A timer without noise."""
    return times.__getitem__


def noisy(times: Mapping[str, float], noise: float, seed: int) -> Timer:
    """A timer whose noise only depends on the candidate and on how often it was asked."""
    draws = {name: random.Random(f"{seed} {name}") for name in times}
    return lambda name: times[name] * (1 + noise * draws[name].random())


def test_candidates_are_sampled_in_rounds_every_other_one_backwards() -> None:
    schedule = Schedule(["a", "b", "c"], ScheduleOptions(least=3))
    order = follow(schedule, steady({"a": 1.0, "b": 1.1, "c": 1.15}))
    assert order[:9] == ["a", "b", "c", "c", "b", "a", "a", "b", "c"]


def test_the_least_median_is_picked_whatever_single_samples_say() -> None:
    a = itertools.cycle([1.0, 1.0, 9.0])
    b = itertools.cycle([2.0, 2.0, 0.1])
    schedule = Schedule(["a", "b"])
    follow(schedule, lambda name: next(a if name == "a" else b))
    assert schedule.pick() == "a"


def test_equal_medians_go_to_the_earlier_candidate() -> None:
    for names in (["a", "b", "c"], ["c", "a", "b"]):
        schedule = Schedule(names)
        follow(schedule, lambda name: 1.0)
        assert schedule.pick() == names[0]


def test_one_that_falls_behind_is_sampled_no_more_than_the_least() -> None:
    times = {"slow": 2.0, "a": 1.0, "b": 1.001}
    options = ScheduleOptions(least=4, certainty=1e9, precision=0.0)
    schedule = Schedule(list(times), options)
    counts = Counter(follow(schedule, noisy(times, 0.1, seed=1)))
    assert counts["slow"] == 4
    assert counts["a"] == counts["b"] == options.most


def test_it_ends_when_all_others_are_behind_however_uncertain_their_times_are() -> None:
    times = {"a": 1.0, "b": 50.0, "c": 60.0}
    options = ScheduleOptions(certainty=1e9, precision=0.0)
    counts = Counter(follow(Schedule(list(times), options), noisy(times, 0.5, seed=2)))
    assert counts == dict.fromkeys(times, options.least)


def test_the_two_that_are_closest_survive_to_the_end() -> None:
    times = {"a": 1.0, "b": 1.1, "c": 1.6, "d": 9.0}
    options = ScheduleOptions(certainty=1e9, precision=0.0)
    counts = Counter(follow(Schedule(list(times), options), noisy(times, 0.05, seed=2)))
    assert counts == {"a": options.most, "b": options.most, "c": options.least, "d": options.least}


def test_it_ends_when_one_leads_for_sure() -> None:
    options = ScheduleOptions(precision=0.0)
    times = {"a": 1.0, "b": 1.2}
    counts = Counter(follow(Schedule(["a", "b"], options), noisy(times, 0.05, seed=5)))
    assert counts == {"a": options.least, "b": options.least}


def test_it_ends_when_both_are_known_so_well_that_who_leads_makes_no_odds() -> None:
    options = ScheduleOptions(certainty=1e9)
    times = {"a": 1.0, "b": 1.001}
    counts = Counter(follow(Schedule(["a", "b"], options), noisy(times, 0.005, seed=6)))
    assert counts == {"a": options.least, "b": options.least}


def test_it_ends_at_the_most_samples_where_nobody_leads_for_sure() -> None:
    times = {"a": 1.0, "b": 1.0}
    schedule = Schedule(["a", "b"], ScheduleOptions(most=12, precision=0.0))
    counts = Counter(follow(schedule, noisy(times, 0.3, seed=3)))
    assert counts == {"a": 12, "b": 12}


def test_one_that_is_close_to_the_bound_ends_it_early() -> None:
    times = {"a": 1.0, "b": 1.02}
    options = ScheduleOptions(certainty=1e9, precision=0.0)
    without = follow(Schedule(["a", "b"], options), noisy(times, 0.05, seed=4))
    bounded = Schedule(["a", "b"], options, bound=0.98)
    taken = follow(bounded, noisy(times, 0.05, seed=4))
    assert len(taken) == 2 * options.least < len(without)
    assert bounded.pick() == "a"


def test_a_bound_that_nobody_comes_near_changes_nothing() -> None:
    times = {"a": 1.0, "b": 1.5, "c": 1.1}
    orders = [
        follow(Schedule(list(times), bound=bound), noisy(times, 0.1, seed=5))
        for bound in (None, 0.1)
    ]
    assert orders[0] == orders[1]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, 0.0, -math.inf])
def test_a_time_that_is_none_never_wins(bad: float) -> None:
    schedule = Schedule(["bad", "good"])
    follow(schedule, steady({"bad": bad, "good": 5.0}))
    assert schedule.pick() == "good"
    assert list(schedule.failures) == ["bad"]


def test_one_that_fails_once_never_wins_whatever_its_samples_were() -> None:
    schedule = Schedule(["a", "b", "c"])
    times = {"a": 1.0, "b": 2.0, "c": 3.0}
    for _ in range(6):
        name = schedule.next()
        assert name is not None
        schedule.record(name, times[name])
    schedule.fail("a", "it broke")
    order = follow(schedule, steady(times))
    assert "a" not in order
    assert schedule.pick() == "b"
    assert schedule.failures == {"a": "it broke"}
    assert schedule.samples["a"] == (1.0, 1.0)


def test_one_that_was_dropped_competes_again_when_a_leader_fails() -> None:
    schedule = Schedule(["a", "b", "c"], ScheduleOptions(least=3, precision=0.0))
    times = {"a": 1.0, "b": 1.01, "c": 2.0}
    timer = noisy(times, 0.2, seed=6)
    for _ in range(20):
        name = schedule.next()
        assert name is not None
        schedule.record(name, timer(name))
    assert len(schedule.samples["c"]) == 3
    schedule.fail("a", "broke")
    schedule.fail("b", "broke")
    follow(schedule, timer)
    assert schedule.pick() == "c"


def test_where_all_fail_nobody_is_picked() -> None:
    schedule = Schedule(["a", "b"])
    follow(schedule, steady({"a": math.nan, "b": -1.0}))
    assert schedule.pick() is None
    assert schedule.scores() == {}


def test_one_candidate_that_is_left_is_sampled_the_least_times() -> None:
    schedule = Schedule(["a", "b"])
    schedule.fail("a", "broke")
    assert follow(schedule, steady({"b": 1.0})) == ["b"] * ScheduleOptions().least


@pytest.mark.parametrize("seed", range(20))
def test_the_numbers_do_not_depend_on_the_order_of_the_candidates(seed: int) -> None:
    draw = random.Random(seed)
    times = {f"c{i}": 1.0 + draw.random() for i in range(6)}
    found = set()
    for names in (list(times), sorted(times, reverse=True), draw.sample(list(times), 6)):
        schedule = Schedule(names)
        follow(schedule, noisy(times, 0.2, seed))
        samples = tuple(sorted(schedule.samples.items()))
        found.add((schedule.pick(), samples))
    assert len(found) == 1


def test_half_the_samples_of_a_fixed_count_give_as_good_picks() -> None:
    adaptive = fixed = 0
    regrets: dict[str, list[float]] = {"adaptive": [], "fixed": []}
    for seed in range(60):
        draw = random.Random(seed)
        times = {f"c{i}": 1e-4 * 1.1 ** draw.uniform(0, 12) for i in range(8)}
        best = min(times.values())
        for kind, options in (
            ("adaptive", ScheduleOptions()),
            ("fixed", ScheduleOptions(least=25, most=25)),
        ):
            schedule = Schedule(list(times), options)
            count = len(follow(schedule, noisy(times, 0.1, seed)))
            adaptive, fixed = (
                (adaptive + count, fixed) if kind == "adaptive" else (adaptive, fixed + count)
            )
            regrets[kind].append(times[schedule.pick() or ""] / best - 1)
    assert adaptive <= fixed / 2
    assert max(regrets["adaptive"]) <= 0.03
    mean = {kind: sum(values) / len(values) for kind, values in regrets.items()}
    assert mean["adaptive"] <= mean["fixed"] + 0.005


@pytest.mark.parametrize(("least", "most"), [(0, 5), (6, 5)])
def test_sample_counts_that_cannot_be_are_refused(least: int, most: int) -> None:
    with pytest.raises(ValueError, match=f"least={least} and most={most} samples"):
        ScheduleOptions(least=least, most=most)
