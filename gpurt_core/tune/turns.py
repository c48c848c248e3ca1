"""Whose turn it is: on one device one key is measured at a time, and each key by one thread.

A turn takes the device and the key together or neither, so that nobody holds one while waiting for
the other. Inside a candidate that is measured only keys are waited for, which cannot go round in a
circle unless the work itself does. Over processes the same is agreed through claims, where the
store gives them.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from dataclasses import dataclass

from gpurt_core.errors import TuneTimeout
from gpurt_core.tune.measurement import TuneIdentity
from gpurt_core.tune.streams import Claim, ClaimGiver, PickStore

_POLL_SECONDS = 0.02
"""Between looks at what another process does: little beside a measurement."""


class Turns:
    """The turns of one process, whatever book the picks are for."""

    def __init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        """Nothing is anybody's turn: in a forked child, where nobody is left to end one."""
        self._changed = threading.Condition()
        self._keys: set[TuneIdentity] = set()
        self._devices: dict[str, _Device] = {}
        """Those that are taken."""

    def take(self, identity: TuneIdentity, service: str, *, nested: bool) -> bool:
        """Takes the key and the device, waiting for a device that is taken.

        `nested`: this key is reached inside a candidate that is measured: no device is waited for,
        neither its own nor another, whose candidates may in turn need this one.
        False: another had the key; it may be measured now, so look again. Raises `TuneTimeout`
        where the device is taken by a candidate that does not end.
        """
        with self._changed:
            while service in self._devices:
                self._devices[service].check_ends()
                if nested:
                    break
                self._changed.wait()
            if identity in self._keys:
                self._changed.wait()
                return False
            self._keys.add(identity)
            self._devices.setdefault(service, _Device()).holders += 1
            return True

    @property
    def are_taken(self) -> bool:
        """Whether anything is measured: read without the lock."""
        return bool(self._devices)

    def wait_for_device(self, service: str) -> None:
        """Returns when nothing is measured on the device, or only what does not end."""
        with self._changed:
            while service in self._devices and self._devices[service].stuck is None:
                self._changed.wait()

    def give_back_key(self, identity: TuneIdentity) -> None:
        """The key may be taken again."""
        with self._changed:
            self._keys.discard(identity)
            self._changed.notify_all()

    def give_back_device(self, service: str) -> None:
        """The device may be taken again, when all who took it have given it back."""
        with self._changed:
            device = self._devices.get(service)
            if device is not None:
                device.holders -= 1
                if not device.holders:
                    del self._devices[service]
            self._changed.notify_all()

    def mark_stuck(self, service: str, error: TuneTimeout) -> None:
        """Who waits for the device is told of a candidate that does not end."""
        with self._changed:
            if service in self._devices:
                self._devices[service].stuck = error
            self._changed.notify_all()


@dataclass(slots=True)
class _Device:
    """A device that is taken."""

    holders: int = 0
    """A measurement, and those inside it."""
    stuck: TuneTimeout | None = None
    """Of a candidate that does not end."""

    def check_ends(self) -> None:
        if self.stuck is not None:
            error = self.stuck
            raise TuneTimeout(error.tuner, error.key, error.candidate, error.seconds)


class Claimed:
    """The claims of a turn, in a store that gives any."""

    def __init__(self, store: PickStore | None) -> None:
        self._giver = store if isinstance(store, ClaimGiver) else None
        self._held: list[Claim] = []

    def take(self, identity: TuneIdentity, service: str | None) -> bool:
        """Claims the device, waiting for it, and the key; false where another process has the key.

        In that case nothing is held, and the other may have measured it: look again.
        """
        if self._giver is None:
            return True
        with contextlib.ExitStack() as undo:
            undo.callback(self.release)
            if service is not None:
                while not self._claim(self._giver, f"measuring on {os.uname().nodename} {service}"):
                    time.sleep(_POLL_SECONDS)
            if not self._claim(self._giver, _name(identity)):
                self.release()
                time.sleep(_POLL_SECONDS)
                return False
            undo.pop_all()
        return True

    def _claim(self, giver: ClaimGiver, what: str) -> bool:
        for _ in range(2):
            claim = giver.claim(what)
            if claim is not None:
                self._held.append(claim)
                return True
            if giver.is_claimed(what):
                return False
        # Twice refused and nobody's: nothing can be claimed there, and nobody is to be waited for.
        return True

    def release(self) -> None:
        """Gives all up."""
        while self._held:
            self._held.pop().release()


def _name(identity: TuneIdentity) -> str:
    return f"tune {identity.tuner} {identity.key} {identity.checksum} {identity.device}"


process_turns = Turns()
"""The turns of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=process_turns.start_anew)
