"""Measures alternatives in turns, in one run, and prints how they compare."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

Alternative = Callable[[], object]


def measure(
    alternatives: Mapping[str, Alternative], *, rounds: int, calls: int = 1
) -> dict[str, float]:
    """Seconds of one call of each, the median over rounds; each round has all of them in turn.

    The machine's noise falls on all alike.
    """
    times: dict[str, list[float]] = {name: [] for name in alternatives}
    for _round in range(rounds):
        for name, alternative in alternatives.items():
            began = time.perf_counter()
            for _call in range(calls):
                alternative()
            times[name].append((time.perf_counter() - began) / calls)
    return {name: statistics.median(values) for name, values in times.items()}


def show(title: str, seconds: Mapping[str, float], *, unit: str = "s") -> None:
    """Prints each, and how it compares with the first."""
    scale = {"s": 1.0, "ms": 1e3, "us": 1e6}[unit]
    base = next(iter(seconds.values()))
    print(title)
    for name, value in seconds.items():
        print(f"  {name:<44} {value * scale:10.2f} {unit}   x {base / value:5.2f}")
    print()
