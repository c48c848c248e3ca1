"""The book of picks: what this process knows of each key, and the store that outlives it.

A page holds the picks of one generation. Turning it over forgets them all at once: a key that is
reached again is recalled from the store, or measured anew, and counts again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from gpurt_core.execution import TuneRegistration
from gpurt_core.tune.measurement import Observer, TuneIdentity
from gpurt_core.tune.streams import PickStore


class Page:
    """The picks of one generation. Each entry is written whole, and read without a lock."""

    def __init__(self, store: PickStore | None) -> None:
        self.store = store
        self.picked: dict[TuneIdentity, str] = {}
        """The name of the candidate that was measured to be the best."""
        self.unproven: set[TuneIdentity] = set()
        """Keys that the store answered, and whose pick has not run yet in this process."""
        self.distrusted: dict[TuneIdentity, str] = {}
        """Picks of the store's that were rejected when they ran."""
        self.unmeasured: dict[TuneIdentity, dict[str, str]] = {}
        """Keys all of whose candidates failed, and why each did."""
        self.gathered: set[TuneIdentity] = set()
        self.quick: dict[tuple[str, str, str, bytes | None], str] = {}
        """`picked` once more, by device, tuner, checksum and shorthand of the key."""


class PickBook:
    """What is known of keys. Safe on any thread.

    `store` keeps picks between runs (an `Environment`); without one they last for a generation.
    `on_measured` is told of each measurement, on the thread that made it.
    """

    def __init__(
        self, store: PickStore | None = None, *, on_measured: Observer | None = None
    ) -> None:
        self.page = Page(store)
        self.on_measured = on_measured
        self._lock = threading.Lock()
        self._gathered: dict[TuneIdentity, list[TuneRegistration]] = {}

    def begin_generation(self) -> None:
        """Forgets the picks. What is gathered stays to be measured; it can be gathered again."""
        self.page = Page(self.page.store)

    def switch(self, store: PickStore | None) -> None:
        """Goes over to another store. What is gathered, or being measured, is abandoned."""
        self.page = Page(store)
        self.abandon_gathered()

    def abandon_gathered(self) -> None:
        """Abandons the keys that were gathered and will not be measured in this process."""
        with self._lock:
            gathered, self._gathered = self._gathered, {}
        for registrations in gathered.values():
            _abandon(registrations)

    def begin_gathering(self, page: Page, identity: TuneIdentity) -> bool:
        """Whether it is the first time that this key is gathered on this page."""
        with self._lock:
            if identity in page.gathered:
                return False
            page.gathered.add(identity)
            return True

    def keep_gathered(self, identity: TuneIdentity, registration: TuneRegistration | None) -> None:
        """Keeps a gathered key's registration until it is measured."""
        if registration is not None:
            with self._lock:
                self._gathered.setdefault(identity, []).append(registration)

    def registrations(self, identity: TuneIdentity) -> list[TuneRegistration]:
        """Those of a key that is measured now: as it was gathered, else a new one."""
        with self._lock:
            gathered = self._gathered.pop(identity, None)
        if gathered is not None:
            return gathered
        registration = TuneRegistration.register()
        return [] if registration is None else [registration]

    def recall(self, page: Page, identity: TuneIdentity, candidate: str) -> None:
        """Notes and counts, once for a page, a key that the store answered."""
        with self._lock:
            if identity in page.picked:
                return
            page.picked[identity] = candidate
            page.unproven.add(identity)
            gathered = self._gathered.pop(identity, [])
        _abandon(gathered)  # it will not be measured
        TuneRegistration.recall()

    def distrust(self, page: Page, identity: TuneIdentity, candidate: str) -> bool:
        """Forgets a pick that was rejected, if the store answered it and it never ran here.

        False where it is still the pick: it was measured here, or ran before.
        """
        with self._lock:
            if identity in page.unproven:
                page.unproven.discard(identity)
                page.distrusted[identity] = page.picked.pop(identity)
            return page.picked.get(identity) != candidate


def _abandon(registrations: Iterable[TuneRegistration]) -> None:
    for registration in registrations:
        registration.abandon()


process_book = PickBook()
"""The book of every tuner that is given no other. Who opens an environment switches it to that."""
