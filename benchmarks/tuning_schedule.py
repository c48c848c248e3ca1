"""Samples and regret of the adaptive schedule, against a fixed count and an exhaustive measurement.

Real kernels on an OpenCL device: three kinds of work in eight sizes, each by eight candidates. The
candidates' times are taken in round robin, and both schedules are given the same ones; the regret
of a pick is how much more its median is than the best one's in many later samples, which neither
has seen.

    python -m benchmarks.tuning_schedule
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from functools import partial

import numpy

from gpurt_core.servers import Kernel, Server, ServerArray, connect
from gpurt_core.tune import Schedule, ScheduleOptions

SIZES = [1 << power for power in range(12, 20)]
LATER = 60
"""Samples of each candidate in the exhaustive measurement."""

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


def main() -> None:
    """Prints a line for each key, and the sums."""
    adaptive = ScheduleOptions()
    fixed = ScheduleOptions(least=adaptive.most, most=adaptive.most)
    kinds = {"adaptive": adaptive, "fixed": fixed}
    taken: dict[str, list[int]] = {name: [] for name in kinds}
    regrets: dict[str, list[float]] = {name: [] for name in kinds}
    same = keys = 0
    with connect("opencl:0") as server:
        print(server.fingerprint)
        for kind in KINDS:
            for size in SIZES:
                times = measure(server, kind, size, adaptive.most + LATER)
                seen = {name: samples[: adaptive.most] for name, samples in times.items()}
                later = {n: statistics.median(s[adaptive.most :]) for n, s in times.items()}
                best = min(later.values())
                picks = {}
                for name, options in kinds.items():
                    picks[name], count = replay(options, seen)
                    taken[name].append(count)
                    regrets[name].append(later[picks[name]] / best - 1)
                keys += 1
                same += picks["adaptive"] == picks["fixed"]
                print(
                    f"{kind:8} {size:7}"
                    + "".join(
                        f"   {name} {picks[name]:>6} {taken[name][-1]:4} samples "
                        f"{regrets[name][-1]:6.1%}"
                        for name in kinds
                    )
                )
    print(f"{keys} keys, the same pick for {same}")
    for name in kinds:
        mean, most = statistics.mean(regrets[name]), max(regrets[name])
        print(f"{name:9} {sum(taken[name]):5} samples, regret {mean:.2%} (at most {most:.1%})")
    print(f"samples, adaptive of fixed: {sum(taken['adaptive']) / sum(taken['fixed']):.0%}")


if __name__ == "__main__":
    main()
