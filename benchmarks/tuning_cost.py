"""What tuning costs once a key is picked: a tuned call, and a key that the environment answers.

On a simulated device, where a candidate costs nothing: what is left is what tuning adds.

    python -m benchmarks.tuning_cost
"""

from __future__ import annotations

import gc
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator

from benchmarks.side_by_side import measure, show
from gpurt_core.environment import Environment
from gpurt_core.execution import ServiceStream
from gpurt_core.tune import PickBook, Tunable, TunableSet, Tuner

KEYS, CANDIDATES, ROUNDS, CALLS = 500, 8, 21, 20_000


class FreeStream:
    """A device whose work takes as long as is said, and costs nothing."""

    device = "a device, a driver 1.0, a compiler 1.0"
    service_stream = ServiceStream("free:0", 0)
    seconds = 0.0

    def profile(self, function: Callable[[], object]) -> float:
        """What the candidate said."""
        function()
        return self.seconds

    def synchronize(self) -> None:
        """Nothing runs."""

    def compile_queued(self) -> None:
        """Nothing is queued."""


def candidate(stream: FreeStream, number: int) -> Tunable:
    """One that takes a little longer than those before."""
    noise: Iterator[float] = itertools.cycle([1.0, 1.02, 0.99, 1.03, 0.98, 1.01, 1.07])

    def run(rows: int, columns: int, kind: str) -> None:
        stream.seconds = 1e-4 * (1 + number / 50) * next(noise)

    return Tunable(f"candidate {number}", run)


def main() -> None:
    """Prints both."""
    stream = FreeStream()
    tunables = TunableSet(
        lambda rows, columns, kind: ("multiply", rows, columns, kind),
        [candidate(stream, number) for number in range(CANDIDATES)],
    )
    with tempfile.TemporaryDirectory() as folder, Environment.open(folder) as environment:
        book = PickBook(environment)
        tuner = Tuner("multiply", stream=stream, book=book)
        for key in range(KEYS):
            tuner.execute(tunables, key, 64, "float32")
        samples = statistics.mean(sum(map(len, p.samples.values())) for p in environment.picks())
        picked = tunables.by_name[environment.picks()[0].candidate].function
        calls: dict[str, Callable[[], object]] = {
            "the candidate": lambda: picked(1, 64, "float32"),
            "tuned": lambda: tuner.execute(tunables, 1, 64, "float32"),
        }
        show("A call, its key picked", measure(calls, rounds=ROUNDS, calls=CALLS), unit="us")
        times = []
        gc.disable()
        for key in range(KEYS):
            if key % 50 == 0:
                book.begin_generation()
                tuner.execute(tunables, 1, 64, "float32")
            began = time.perf_counter()
            tuner.execute(tunables, (key + 100) % KEYS, 64, "float32")
            times.append(time.perf_counter() - began)
        times.sort()
        print(f"A key that the environment answers ({samples:.0f} samples kept with it)")
        print(f"  median {statistics.median(times) * 1e6:.1f} us, ", end="")
        print(f"nine of ten below {times[len(times) * 9 // 10] * 1e6:.1f} us")


if __name__ == "__main__":
    main()
