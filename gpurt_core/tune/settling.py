"""What becomes of what was found: noted for the process, kept in the store, counted."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gpurt_core.environment import StoredPick
from gpurt_core.execution import TuneOutcome, TunePick, TuneRegistration
from gpurt_core.tune.book import Page, PickBook
from gpurt_core.tune.measurement import Measurement, TuneIdentity
from gpurt_core.tune.measuring import Findings
from gpurt_core.tune.streams import PickStore


def settle(
    book: PickBook,
    page: Page,
    identity: TuneIdentity,
    findings: Findings,
    registrations: Sequence[TuneRegistration],
) -> Measurement | None:
    """Notes it on the page, and keeps and counts it.

    `None`, with nothing kept or counted, where the store was switched while it was measured.
    """
    if findings.pick is None:
        page.unmeasured[identity] = findings.failures
    else:
        page.picked[identity] = findings.pick
    if book.page.store is not page.store:
        return None
    persisted = _persist(page.store, identity, findings)
    for registration in registrations:
        if findings.pick is None:
            registration.settle(TuneOutcome.FAILED)
            continue
        settled = registration.settle(TuneOutcome.MEASURED)
        if persisted:
            settled.record(TunePick.PERSISTED)
    return Measurement(
        identity=identity,
        pick=findings.pick or next(iter(findings.samples)),
        scores=findings.scores,
        samples=findings.samples,
        failures=findings.failures,
        seconds=findings.seconds,
        persisted=persisted,
    )


def _persist(store: PickStore | None, identity: TuneIdentity, findings: Findings) -> bool:
    if store is None or findings.pick is None:
        return False
    samples = {
        name: [_rounded(seconds) for seconds in times]
        for name, times in findings.samples.items()
        if times
    }
    return store.store_pick(
        StoredPick(
            device=identity.device,
            tuner=identity.tuner,
            key=identity.key,
            checksum=identity.checksum,
            candidate=findings.pick,
            samples=samples,
            at=time.time(),
        )
    )


def _rounded(seconds: float) -> float:
    """To four digits, finer than the noise of any timer: each pick is that much shorter to read."""
    return float(f"{seconds:.4g}")
