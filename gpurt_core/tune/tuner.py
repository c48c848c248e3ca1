"""The tuner: runs the candidate that was measured to be the best, and measures where none was.

A key that is picked costs a lookup. Which candidate is picked depends on the times alone: not on
the order of calls, nor on other threads and processes that need the same key. A pick that was kept
by another run and is rejected where this one first calls it is forgotten, and the key measured
again; a launch that fails only later, at a `synchronize`, is the user's to see.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

from gpurt_core.errors import TuneTimeout
from gpurt_core.execution import ProcessMode
from gpurt_core.tune import frames
from gpurt_core.tune.book import Page, PickBook, process_book
from gpurt_core.tune.gathering import gather
from gpurt_core.tune.keys import encode_key, lasting_shorthand, shorthand
from gpurt_core.tune.measurement import Observer, TuneIdentity, tell
from gpurt_core.tune.measuring import Measuring, TuneLimits
from gpurt_core.tune.rejections import Rejects, is_rejection
from gpurt_core.tune.schedule import ScheduleOptions
from gpurt_core.tune.settling import settle
from gpurt_core.tune.streams import TunedStream
from gpurt_core.tune.tunable import TunableSet
from gpurt_core.tune.turns import Claimed, process_turns
from gpurt_core.tune.watching import WatchedThread


class _Unfit(Exception):
    """A pick that was kept works no more: its key is measured again."""


class Tuner:
    """Picks candidates for keys, on any thread. Tuners of one name in one book share their picks.

    `stream` is the one to tune on where a call names none. `book` keeps the picks: by default that
    of the process. `rejects` are further errors, a framework's own, by which a candidate says that
    it does not suit, as `Rejected` does. `on_measured` is told of each `Measurement`.
    """

    def __init__(
        self,
        name: str,
        *,
        stream: TunedStream | None = None,
        book: PickBook = process_book,
        schedule: ScheduleOptions | None = None,
        limits: TuneLimits | None = None,
        rejects: Rejects = (),
        on_measured: Observer | None = None,
    ) -> None:
        self.name = name
        self.book = book
        self._stream = stream
        self._schedule = schedule or ScheduleOptions()
        self._limits = limits or TuneLimits()
        self._rejects = rejects
        self._on_measured = on_measured

    def __repr__(self) -> str:
        return f"Tuner({self.name!r})"

    def execute(self, tunables: TunableSet, *args: Any, stream: TunedStream | None = None) -> Any:
        """Runs the pick for the key of these arguments, and returns what it returned.

        Where there is no pick yet: measures and stores one; in a compile-only process gathers the
        key instead. Raises `BadTuneKey`, `TuneRecursion`, `TuneTimeout`, and what a candidate
        raises.
        """
        if tunables.single is not None:
            return tunables.single(*args)
        stream = self._stream if stream is None else stream
        if stream is None:
            raise TypeError(
                f"tuner {self.name!r} has no stream: give execute(..., stream=...) or "
                f"Tuner({self.name!r}, stream=...) one"
            )
        key = tunables.key(*args)
        quick = (stream.device, self.name, tunables.checksum, shorthand(key))
        name = self.book.page.quick.get(quick)
        if name is None:
            return self._execute_anew(tunables, args, stream, key)
        if process_turns.are_taken:
            self._let_others_measure(stream)
        return tunables.by_name[name].function(*args)

    def _execute_anew(
        self, tunables: TunableSet, args: tuple[Any, ...], stream: TunedStream, key: object
    ) -> Any:
        identity = TuneIdentity(stream.device, self.name, encode_key(key), tunables.checksum)
        frames.check_not_inside(identity)
        page = self.book.page
        if not self._is_known(page, identity, tunables):
            if ProcessMode.current() is ProcessMode.COMPILE_ONLY:
                return gather(self.book, identity, tunables, args, self._rejects)
            with frames.blameless():
                page = self._obtain(identity, tunables, args, stream)
        self._let_others_measure(stream)
        if identity in page.unmeasured:
            return self._run_unmeasured(page.unmeasured[identity], identity, tunables, args)
        name = page.picked.get(identity)
        if name is not None:  # else another thread has just forgotten it
            with contextlib.suppress(_Unfit):
                return self._run_pick(page, identity, name, tunables, args, key)
        return self._execute_anew(tunables, args, stream, key)

    def _run_pick(
        self,
        page: Page,
        identity: TuneIdentity,
        name: str,
        tunables: TunableSet,
        args: tuple[Any, ...],
        key: object,
    ) -> Any:
        """Raises `_Unfit` for a pick of the store's that is rejected where it runs first."""
        try:
            result = tunables.by_name[name].function(*args)
        except Exception as error:
            if is_rejection(error, self._rejects) and self.book.distrust(page, identity, name):
                raise _Unfit from error
            raise
        page.unproven.discard(identity)
        quick = lasting_shorthand(key)
        if quick is not None:
            page.quick[identity.device, identity.tuner, identity.checksum, quick] = name
        return result

    def _let_others_measure(self, stream: TunedStream) -> None:
        """A call would disturb what another thread measures on the device: it waits."""
        if not frames.is_measured():
            process_turns.wait_for_device(stream.service_stream.service)

    def _run_unmeasured(
        self,
        failures: dict[str, str],
        identity: TuneIdentity,
        tunables: TunableSet,
        args: tuple[Any, ...],
    ) -> Any:
        try:
            return tunables.candidates[0].function(*args)
        except Exception as error:
            every = "; ".join(f"{name}: {cause}" for name, cause in failures.items())
            error.add_note(f"every candidate failed for key {identity.key} of {self!r}: {every}")
            raise

    def _is_known(self, page: Page, identity: TuneIdentity, tunables: TunableSet) -> bool:
        if identity in page.picked or identity in page.unmeasured:
            return True
        if page.store is None:
            return False
        stored = page.store.pick(identity.device, identity.tuner, identity.key, identity.checksum)
        # An entry of an unknown candidate is a damaged one: it is measured, and replaced.
        if stored is None or stored.candidate not in tunables.by_name:
            return False
        if page.distrusted.get(identity) == stored.candidate:
            return False
        self.book.recall(page, identity, stored.candidate)
        return True

    def _obtain(
        self,
        identity: TuneIdentity,
        tunables: TunableSet,
        args: tuple[Any, ...],
        stream: TunedStream,
    ) -> Page:
        """The page on which the key is known, once this or another thread has measured it."""
        device, nested = stream.service_stream.service, frames.is_measured()
        while True:
            page = self.book.page
            if self._is_known(page, identity, tunables):
                return page
            if not process_turns.take(identity, device, nested=nested):
                continue
            watched = WatchedThread(self._limits.hung_seconds)
            claimed = Claimed(page.store)
            try:
                if claimed.take(identity, None if nested else device):
                    if not self._is_known(page, identity, tunables):
                        self._measure(page, identity, tunables, args, stream, watched)
                    return page
            except TuneTimeout as error:
                process_turns.mark_stuck(device, error)
                raise
            finally:
                process_turns.give_back_key(identity)
                # A candidate that has not ended keeps the device until it does.
                watched.close(partial(_give_back, claimed, device))

    def _measure(
        self,
        page: Page,
        identity: TuneIdentity,
        tunables: TunableSet,
        args: tuple[Any, ...],
        stream: TunedStream,
        watched: WatchedThread,
    ) -> None:
        measuring = Measuring(
            identity,
            stream,
            watched,
            schedule=self._schedule,
            limits=self._limits,
            rejects=self._rejects,
        )
        registrations = self.book.registrations(identity)
        try:
            with frames.inside(frames.Frame(identity, frames.current(), watched)):
                findings = measuring.run(tunables, args)
            measurement = settle(self.book, page, identity, findings, registrations)
            if measurement is not None:
                tell(self._on_measured, measurement)
                tell(self.book.on_measured, measurement)
        finally:
            for registration in registrations:
                registration.abandon()  # unless it has settled


def _give_back(claimed: Claimed, device: str) -> None:
    claimed.release()
    process_turns.give_back_device(device)
