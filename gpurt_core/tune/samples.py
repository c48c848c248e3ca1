"""Times of one candidate: which are valid, their median, their spread, and who is ahead.

All times are seconds on the device. Nothing here decides what is sampled (`schedule`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_DEVIATIONS_OF_NORMAL = 1.4826
"""A normal distribution's standard deviation is so many median absolute deviations."""
_ERROR_OF_MEDIAN = 1.2533
"""The standard error of a median is so many times that of a mean: sqrt(pi / 2)."""


def what_is_wrong_with(seconds: float) -> str | None:
    """Why a time cannot be one; `None` for a time that can."""
    if math.isnan(seconds) or math.isinf(seconds):
        return f"its time was {seconds}"
    if seconds == 0:
        return "its time was 0 s: does it launch on the stream that is measured?"
    if seconds < 0:
        return f"its time was {seconds:g} s"
    return None


@dataclass(frozen=True, slots=True)
class Score:
    """What the samples of a candidate amount to."""

    median: float
    spread: float
    """The standard deviation, estimated from the median one: a few late samples do not move it."""
    count: int

    @staticmethod
    def of(samples: Sequence[float]) -> Score:
        """The score of one or more valid times, in any order."""
        median = statistics.median(samples)
        deviation = statistics.median(abs(sample - median) for sample in samples)
        return Score(median, deviation * _DEVIATIONS_OF_NORMAL, len(samples))

    @property
    def error(self) -> float:
        """The standard error of the median."""
        return _ERROR_OF_MEDIAN * self.spread / math.sqrt(self.count)

    def is_surely_less(self, other: Score, certainty: float) -> bool:
        """Whether the medians differ by more than `certainty` standard errors of the difference."""
        return other.median - self.median > certainty * math.hypot(self.error, other.error)
