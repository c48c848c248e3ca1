"""Samples and regret of the adaptive schedule, against a fixed count and an exhaustive measurement.

Real kernels on an OpenCL device: three kinds of work in eight sizes, each by eight candidates. The
candidates' times are taken in round robin, for several tunes one after another. In each tune both
schedules are given the same times; the regret of a pick is how much more its median is than the
best one's in all samples of the other tunes, which neither has seen. One tune says little where the
machine does other work beside it: a device that is slow for a while is slow for both schedules.

    python -m benchmarks.tuning_schedule
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy

from gpurt_core.servers import Kernel, Server, ServerArray, connect
from gpurt_core.tune import Schedule, ScheduleOptions

SIZES = [1 << power for power in range(12, 20)]
MOST = ScheduleOptions().most
"""Samples of each candidate by a fixed count: as many as the adaptive schedule takes at most."""
TUNES = 6
"""Of each key."""
AS_GOOD = 0.02
"""A pick of so little regret is as good as the best: medians of the same kernel differ by that."""

KINDS = {
    "scale": "for (int i = get_global_id(0); i < n; i += get_global_size(0)) y[i] = 3 * x[i];",
    "sines": "for (int i = get_global_id(0); i < n; i += get_global_size(0)) y[i] = sin(x[i]);",
    "stripes": (
        "int each = n / get_global_size(0), from = each * get_global_id(0);"
        "for (int i = from; i < from + each; ++i) y[i] = x[i] + x[n - 1 - i];"
    ),
}
SHAPES = [(1, 64), (4, 64), (16, 64), (2, 16), (16, 16), (1, 256), (4, 256), (64, 16)]
"""Blocks and threads of a block: the candidates."""

Times = Mapping[str, list[float]]


def measure(server: Server, kind: str, size: int, rounds: int) -> Times:
    """So many times of each candidate, in round robin after a warm-up."""
    body = KINDS[kind]
    source = f"__kernel void {kind}(__global float *x, __global float *y, int n) {{ {body} }}"
    kernel = Kernel(kind, opencl=source)
    x = server.array(numpy.ones(size, numpy.float32))
    y = server.empty(size, numpy.float32)
    times: dict[str, list[float]] = {f"{grid}x{block}": [] for grid, block in SHAPES}
    for number in range(rounds + 1):
        for grid, block in SHAPES:
            launch = partial(launch_all, server, kernel, grid, block, x, y)
            seconds = server.profile(launch)
            if number:
                times[f"{grid}x{block}"].append(seconds)
    return times


def launch_all(
    server: Server, kernel: Kernel, grid: int, block: int, x: ServerArray, y: ServerArray
) -> None:
    """One candidate."""
    server.launch(kernel, grid, block, [x, y, numpy.int32(x.size)])


def replay(options: ScheduleOptions, times: Times) -> tuple[str, int]:
    """The pick, and the samples it took."""
    left: dict[str, Iterator[float]] = {name: iter(samples) for name, samples in times.items()}
    schedule, taken = Schedule(list(times), options), 0
    while (name := schedule.next()) is not None:
        schedule.record(name, next(left[name]))
        taken += 1
    pick = schedule.pick()
    assert pick is not None
    return pick, taken


@dataclass
class Found:
    """What one schedule came to, over all tunes."""

    samples: list[int] = field(default_factory=list)
    regrets: list[float] = field(default_factory=list)

    def add(self, options: ScheduleOptions, seen: Times, unseen: Mapping[str, float]) -> None:
        """Replays one tune."""
        pick, count = replay(options, seen)
        self.samples.append(count)
        self.regrets.append(unseen[pick] / min(unseen.values()) - 1)

    def line(self) -> str:
        """All of it, in short."""
        good = sum(regret <= AS_GOOD for regret in self.regrets) / len(self.regrets)
        nine_of_ten = statistics.quantiles(self.regrets, n=10)[-1]
        return (
            f"{statistics.mean(self.samples):5.0f} samples a tune, "
            f"{good:4.0%} as good as the best, regret {statistics.mean(self.regrets):.2%} "
            f"(median {statistics.median(self.regrets):.2%}, nine of ten below {nine_of_ten:.1%})"
        )


def compare(times: Times, options: Mapping[str, ScheduleOptions]) -> dict[str, Found]:
    """Replays the tunes of one key with each schedule."""
    found = {name: Found() for name in options}
    for tune in range(TUNES):
        window = slice(tune * MOST, (tune + 1) * MOST)
        seen = {name: samples[window] for name, samples in times.items()}
        unseen = {
            name: statistics.median(samples[: window.start] + samples[window.stop :])
            for name, samples in times.items()
        }
        for name, chosen in options.items():
            found[name].add(chosen, seen, unseen)
    return found


def main() -> None:
    """Prints a line for each key, and the sums."""
    options = {"adaptive": ScheduleOptions(), "fixed": ScheduleOptions(least=MOST, most=MOST)}
    total = {name: Found() for name in options}
    keys = 0
    with connect("opencl:0") as server:
        print(server.fingerprint)
        for kind in KINDS:
            for size in SIZES:
                found = compare(measure(server, kind, size, TUNES * MOST), options)
                keys += 1
                print(f"{kind:8} {size:7}", end="")
                for name, each in found.items():
                    total[name].samples += each.samples
                    total[name].regrets += each.regrets
                    print(
                        f"   {name} {statistics.mean(each.samples):4.0f} samples "
                        f"{statistics.mean(each.regrets):6.1%}",
                        end="",
                    )
                print()
    print(f"{keys} keys, {TUNES} tunes of each")
    for name, each in total.items():
        print(f"{name:9}{each.line()}")
    ratio = sum(total["adaptive"].samples) / sum(total["fixed"].samples)
    print(f"samples, adaptive of fixed: {ratio:.0%}")


if __name__ == "__main__":
    main()
