"""Measuring one key on one device: warm-ups, samples, groups. Nothing is counted or kept here.

Everything that is queued compiles first, on a stream put in `EXECUTE`. Each candidate is warmed up
once, which compiles and loads what it launches and settles the keys inside it, and is then sampled
as the schedule says. A group is measured only where all candidates of those before it failed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gpurt_core.errors import TuneTimeout
from gpurt_core.execution import StreamMode, StreamModeOverride
from gpurt_core.tune.measurement import TuneIdentity
from gpurt_core.tune.rejections import Rejects, cause_of, is_rejection
from gpurt_core.tune.samples import Score
from gpurt_core.tune.schedule import Schedule, ScheduleOptions
from gpurt_core.tune.streams import TunedStream
from gpurt_core.tune.tunable import Tunable, TunableSet
from gpurt_core.tune.watching import Unended, WatchedThread


@dataclass(frozen=True, slots=True)
class TuneLimits:
    """How long a candidate may take. It cannot be stopped in its process; it can be given up."""

    sample_seconds: float = 10.0
    """On the device: a candidate with a longer sample is out. It is let end first."""
    hung_seconds: float | None = 300.0
    """Of wall clock, compiling included: a candidate that takes longer is taken for one that never
    ends, and the tune raises `TuneTimeout`. `None`: it is waited for, and candidates are measured
    on the thread that tunes instead of one beside it."""


@dataclass(slots=True)
class Findings:
    """What measuring a key found, of all groups that were tried."""

    pick: str | None = None
    """The best candidate's name; `None` where all failed."""
    scores: dict[str, Score] = field(default_factory=dict)
    samples: dict[str, tuple[float, ...]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    """How long it took, of wall clock."""

    def add(self, schedule: Schedule) -> None:
        """Takes over what one group's schedule found."""
        self.pick = schedule.pick()
        self.scores.update(schedule.scores())
        self.samples.update(schedule.samples)
        self.failures.update(schedule.failures)


class Measuring:
    """The measuring of one key, with what is the same for all its candidates."""

    def __init__(
        self,
        identity: TuneIdentity,
        stream: TunedStream,
        watched: WatchedThread,
        *,
        schedule: ScheduleOptions,
        limits: TuneLimits,
        rejects: Rejects,
    ) -> None:
        self._identity = identity
        self._stream = stream
        self._watched = watched
        self._schedule = schedule
        self._limits = limits
        self._rejects = rejects

    def run(self, tunables: TunableSet, args: tuple[Any, ...]) -> Findings:
        """Measures; raises `TuneTimeout`, and whatever a candidate raised that rejects nothing."""
        began = time.monotonic()
        findings = Findings()
        with StreamModeOverride(StreamMode.EXECUTE, self._stream.service_stream):
            self._stream.compile_queued()
            bound = None if tunables.bound is None else tunables.bound(*args)
            inputs = args if tunables.inputs is None else tunables.inputs(*args)
            self._stream.synchronize()
            for group in tunables.groups:
                findings.add(self._group(group, inputs, bound))
                if findings.pick is not None:
                    break
        findings.seconds = time.monotonic() - began
        return findings

    def _group(
        self, group: Sequence[Tunable], inputs: tuple[Any, ...], bound: float | None
    ) -> Schedule:
        by_name = {tunable.name: tunable for tunable in group}
        schedule = Schedule(list(by_name), self._schedule, bound=bound)
        for tunable in group:
            self._try(schedule, tunable, inputs)
        while (name := schedule.next()) is not None:
            seconds = self._try(schedule, by_name[name], inputs)
            if seconds is not None:
                self._record(schedule, name, seconds)
        return schedule

    def _try(self, schedule: Schedule, tunable: Tunable, inputs: tuple[Any, ...]) -> float | None:
        """The seconds that it took; `None` where it failed."""
        run = partial(tunable.function, *inputs)
        try:
            return self._watched.call(partial(self._stream.profile, run))
        except Unended:
            limit = self._limits.hung_seconds or 0.0
            identity = self._identity
            raise TuneTimeout(identity.tuner, identity.key, tunable.name, limit) from None
        except Exception as error:
            if not is_rejection(error, self._rejects):
                raise
            schedule.fail(tunable.name, cause_of(error))
            return None

    def _record(self, schedule: Schedule, name: str, seconds: float) -> None:
        limit = self._limits.sample_seconds
        if limit < seconds < math.inf:
            schedule.fail(name, f"it took {seconds:g} s, over the limit of {limit:g} s")
        else:
            schedule.record(name, seconds)
