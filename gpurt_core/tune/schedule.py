"""Which candidate is sampled next, and when there is enough: pure logic, without a device.

Candidates are sampled in rounds, every survivor once in each, and who survives is decided between
rounds only: the numbers do not depend on the order of the candidates. Every other round goes
backwards, so that a device that warms up or slows down favours nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpurt_core.tune.samples import Score, what_is_wrong_with


@dataclass(frozen=True, slots=True)
class ScheduleOptions:
    """When a candidate falls behind, and when leaders have converged.

    The numbers were chosen with `benchmarks/tuning_schedule.py`: at these the picks are as good as
    with `most` samples each, for two fifths of the samples; with fewer of `least` some are not.
    """

    least: int = 6
    """Samples before anything is concluded: three now and then agree by chance."""
    most: int = 25
    """Samples of one candidate at which it ends whatever they say."""
    behind: float = 1.3
    """A median of so many times the best one is behind: noise moves few medians as far."""
    certainty: float = 4.0
    """Standard errors between two medians that make one surely the less. Three would do, were an
    error that is estimated from six samples known better."""
    precision: float = 0.01
    """A relative standard error of the leaders' medians below which who leads makes no odds."""
    near_bound: float = 1.1
    """So many times the bound is close to it: the best possible gains a tenth at most."""

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise ValueError(
                f"least={self.least} and most={self.most} samples: give 1 <= least <= most"
            )


class Schedule:
    """The sampling of some candidates, by name. Used by one thread."""

    def __init__(
        self,
        names: Sequence[str],
        options: ScheduleOptions | None = None,
        *,
        bound: float | None = None,
    ) -> None:
        self._options = options or ScheduleOptions()
        self._bound = bound
        self._names = list(names)
        self._samples: dict[str, list[float]] = {name: [] for name in names}
        self._failures: dict[str, str] = {}
        self._survivors = list(names)
        self._round: list[str] = []
        self._rounds = 0

    def next(self) -> str | None:
        """The candidate to sample now; `None` when there is enough."""
        while self._round:
            name = self._round.pop()
            if name not in self._failures:
                return name
        if self._is_decided():
            return None
        self._drop_those_behind()
        self._rounds += 1
        self._round = self._survivors[:: -1 if self._rounds % 2 else 1]
        return self._round.pop()

    def record(self, name: str, seconds: float) -> None:
        """Notes a time; one that cannot be a time is a failure."""
        wrong = what_is_wrong_with(seconds)
        if wrong is None:
            self._samples[name].append(seconds)
        else:
            self.fail(name, wrong)

    def fail(self, name: str, cause: str) -> None:
        """Takes a candidate out for good, whatever its samples were."""
        self._failures.setdefault(name, cause)
        if name in self._survivors:
            self._survivors.remove(name)
        if len(self._survivors) < 2:  # a lead is over somebody
            self._bring_back()

    def pick(self) -> str | None:
        """The candidate of the least median, of equals the earlier; `None` where all failed."""
        scores = self.scores()
        # Not one that fell behind, whose few samples the leaders' many may come to exceed.
        leaders = [name for name in self._survivors if name in scores]
        return min(leaders, key=lambda name: scores[name].median, default=None)

    def scores(self) -> dict[str, Score]:
        """The scores of those that were sampled and never failed, in the candidates' order."""
        return {
            name: Score.of(samples)
            for name, samples in self._samples.items()
            if samples and name not in self._failures
        }

    @property
    def samples(self) -> dict[str, tuple[float, ...]]:
        """All valid times, also of candidates that failed later."""
        return {name: tuple(samples) for name, samples in self._samples.items()}

    @property
    def failures(self) -> dict[str, str]:
        """Why candidates are out."""
        return dict(self._failures)

    def _leaders(self) -> list[Score]:
        scores = self.scores()
        return sorted((scores[name] for name in self._survivors), key=lambda s: s.median)

    def _is_decided(self) -> bool:
        options = self._options
        if not self._survivors:
            return True
        if min(len(self._samples[name]) for name in self._survivors) < options.least:
            return False
        best, *others = self._leaders()
        if self._bound is not None and best.median <= self._bound * options.near_bound:
            return True
        if best.count >= options.most or not others:
            return True
        # One that is behind needs no more samples, however wide its own spread is.
        return all(
            other.median > best.median * options.behind
            or best.is_surely_less(other, options.certainty)
            or self._makes_no_odds(best, other)
            for other in others
        )

    def _makes_no_odds(self, best: Score, other: Score) -> bool:
        precise = self._options.precision
        return all(score.error <= precise * score.median for score in (best, other))

    def _drop_those_behind(self) -> None:
        if min(len(self._samples[name]) for name in self._survivors) < self._options.least:
            return
        scores = self.scores()
        # Two at the least are within it: with all others behind, it is decided and goes no further.
        limit = min(scores[name].median for name in self._survivors) * self._options.behind
        self._survivors = [name for name in self._survivors if scores[name].median <= limit]

    def _bring_back(self) -> None:
        """Those that were dropped compete again when a leader fails."""
        self._survivors = [name for name in self._names if name not in self._failures]
