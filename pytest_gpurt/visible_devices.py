"""Which CUDA device a worker uses: each has another one first, as far as there are several.

The driver looks at `CUDA_VISIBLE_DEVICES` when it is first used, so it is set before anything is
imported. All devices stay visible: tests that want several find them, behind the worker's own.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

_VARIABLE = "CUDA_VISIBLE_DEVICES"
_GPUS = Path("/proc/driver/nvidia/gpus")
"""A folder for each device, kept by the driver: nothing of CUDA is needed to count them."""


def worker_number(environ: MutableMapping[str, str] = os.environ) -> int:
    """The number of this worker of pytest-xdist, from 0."""
    name = environ.get("PYTEST_XDIST_WORKER", "")
    return int(name.removeprefix("gw")) if name.removeprefix("gw").isdigit() else 0


def put_own_device_first(
    environ: MutableMapping[str, str] = os.environ, gpus: Path = _GPUS
) -> None:
    """In a worker: turns the list of visible devices by the worker's number."""
    number = worker_number(environ)
    names = _visible(environ, gpus)
    if number and len(names) > 1:
        start = number % len(names)
        environ[_VARIABLE] = ",".join([*names[start:], *names[:start]])


def _visible(environ: MutableMapping[str, str], gpus: Path) -> list[str]:
    given = environ.get(_VARIABLE)
    if given is not None:
        names = [name.strip() for name in given.split(",")]
        # As the driver reads it: what follows a device that there is not is not visible.
        return names[: names.index("-1")] if "-1" in names else [name for name in names if name]
    try:
        return [str(number) for number in range(len(os.listdir(gpus)))]
    except OSError:
        return []
