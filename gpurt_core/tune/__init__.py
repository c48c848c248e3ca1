"""Tuning: which of several ways of doing a piece of work is the fastest on a device."""

from gpurt_core.environment import StoredPick
from gpurt_core.errors import (
    BadTunableSet,
    BadTuneKey,
    Rejected,
    TuneRecursion,
    TuneTimeout,
)
from gpurt_core.tune.book import PickBook, process_book
from gpurt_core.tune.measurement import Measurement, TuneIdentity
from gpurt_core.tune.measuring import TuneLimits
from gpurt_core.tune.samples import Score
from gpurt_core.tune.schedule import Schedule, ScheduleOptions
from gpurt_core.tune.streams import Claim, ClaimGiver, PickStore, TunedStream
from gpurt_core.tune.tunable import Tunable, TunableSet
from gpurt_core.tune.tuner import Tuner

__all__ = [
    "BadTunableSet",
    "BadTuneKey",
    "Claim",
    "ClaimGiver",
    "Measurement",
    "PickBook",
    "PickStore",
    "Rejected",
    "Schedule",
    "ScheduleOptions",
    "Score",
    "StoredPick",
    "Tunable",
    "TunableSet",
    "TuneIdentity",
    "TuneLimits",
    "TuneRecursion",
    "TuneTimeout",
    "TunedStream",
    "Tuner",
    "process_book",
]
