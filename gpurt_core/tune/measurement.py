"""What an observer is told of a measurement, and the names by which keys are known."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpurt_core.tune.samples import Score

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TuneIdentity:
    """All that a pick depends on."""

    device: str
    """The device's fingerprint."""
    tuner: str
    key: str
    """JSON."""
    checksum: str
    """Of the candidates."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One key was measured."""

    identity: TuneIdentity
    pick: str
    """The candidate's name; where all failed, that of the first."""
    scores: Mapping[str, Score]
    """Median and spread (seconds) of each candidate that was sampled and did not fail."""
    samples: Mapping[str, tuple[float, ...]]
    """All times (seconds), also of candidates that failed later."""
    failures: Mapping[str, str]
    """Why candidates are out."""
    seconds: float
    """How long it took, of wall clock."""
    persisted: bool
    """Whether the environment kept the pick."""

    @property
    def measured(self) -> bool:
        """Whether the pick was made by measuring: false where all candidates failed."""
        return bool(self.scores)

    @property
    def runner_up(self) -> str | None:
        """The next best candidate; `None` where there is none."""
        others = {name: score.median for name, score in self.scores.items() if name != self.pick}
        return min(others, key=others.__getitem__, default=None)

    @property
    def margin(self) -> float | None:
        """How much more time the runner-up takes: 0.1 is a tenth more. `None` without one."""
        runner_up = self.runner_up
        if runner_up is None:
            return None
        return self.scores[runner_up].median / self.scores[self.pick].median - 1

    @property
    def unstable(self) -> bool:
        """Whether the leaders are closer than their spread: another run may pick the other."""
        runner_up = self.runner_up
        if runner_up is None:
            return False
        first, second = self.scores[self.pick], self.scores[runner_up]
        return second.median - first.median < max(first.spread, second.spread)


Observer = Callable[[Measurement], object]


def tell(observer: Observer | None, measurement: Measurement) -> None:
    """Tells `observer`. One that raises is logged: a broken observer never breaks the core."""
    if observer is None:
        return
    try:
        observer(measurement)
    except Exception:
        _log.exception("the observer of measurements raised on %s", measurement.identity)
