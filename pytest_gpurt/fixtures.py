"""The fixtures of the plugin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_gpurt.run import run_of

if TYPE_CHECKING:
    from gpurt_core.servers import Server
    from pytest_gpurt.statistics import GpuStatistics

STATISTICS_FIXTURES = ("gpu_stats", "gpu_fresh_environment")
"""A test that uses one of these starts a new generation."""


@pytest.fixture
def gpu_stats(request: pytest.FixtureRequest) -> GpuStatistics:
    """How many kernels this test obtained and how many tunes it measured.

    `gpu_stats.expect(obtained=3)` fails the test when it is another number, and lists the kernels;
    `gpu_stats.compilation.compiled` and the like are the counts; `gpu_stats.during()` counts a
    block; `gpu_stats.kernels` has each kernel.
    """
    from pytest_gpurt.statistics import GpuStatistics

    run = run_of(request.config)
    run.start_counting()
    return GpuStatistics(run, run.attempt_of(request.node))


@pytest.fixture
def gpu_device(request: pytest.FixtureRequest) -> Iterator[Server]:
    """The server of this worker's device (see `gpurt_core.servers`): of `--gpu-device`, or of the
    first device that there is. The test is skipped where there is none.

    What the test launched is waited for when it ends: what went wrong with it fails the test.
    """
    from gpurt_core.errors import NoDevice

    devices = run_of(request.config).devices
    try:
        server = devices.server
    except NoDevice as error:
        pytest.skip(str(error))
    with devices.synchronized():
        yield server


@pytest.fixture
def gpu_mode(request: pytest.FixtureRequest) -> str | None:
    """The mode of the run: "compile-only", "autotune", "execute"; `None` where none was given."""
    mode = run_of(request.config).options.mode
    return None if mode is None else mode.value


@pytest.fixture
def gpu_fresh_environment(request: pytest.FixtureRequest) -> Iterator[Path]:
    """An empty environment for this test alone; its folder.

    Nothing is found in it, so that the test compiles and measures everything that it reaches.
    """
    run = run_of(request.config)
    folder: Path = request.getfixturevalue("tmp_path") / "gpurt"
    with ExitStack() as stack:
        stack.enter_context(run.fresh_environment(folder))
        yield folder
