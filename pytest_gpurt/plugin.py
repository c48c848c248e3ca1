"""The plugin's door to pytest: options, fixtures, and the hooks of the run.

It imports nothing of CuPy, and what it needs for counting only once there is something to count.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_gpurt.fixtures import gpu_device, gpu_fresh_environment, gpu_mode, gpu_stats
from pytest_gpurt.options import add_options, read_options
from pytest_gpurt.run import GpuRun, run_key

__all__ = ["gpu_device", "gpu_fresh_environment", "gpu_mode", "gpu_stats"]

_MARKERS = (
    "gpu_eager: in a compile-only pass, compile each kernel of this test where it is asked for.",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    add_options(parser)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """Begins before any conftest, and before pytest captures anything."""
    run = GpuRun(early_config, read_options(early_config))
    early_config.stash[run_key] = run
    run.begin()
    try:
        return (yield)
    except BaseException:
        run.end()
        raise


def pytest_configure(config: pytest.Config) -> None:
    """Puts the run's hooks in place."""
    from pytest_gpurt.watching import WatchHooks

    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    run = config.stash[run_key]
    run.require_device()
    register = config.pluginmanager.register
    register(WatchHooks(run), "gpurt-watch")
    run.once_counting(lambda: _register_counting(run))
    if _is_worker(config):
        from pytest_gpurt.workers import WorkerHooks

        register(WorkerHooks(run), "gpurt-worker")
    elif config.pluginmanager.has_plugin("xdist"):
        from pytest_gpurt.workers import ControllerHooks

        register(ControllerHooks(run), "gpurt-controller")
    if run.discards:
        from pytest_gpurt.batch import BatchHooks
        from pytest_gpurt.outcomes import OutcomeHooks
        from pytest_gpurt.reading import ReadingHooks

        reading = ReadingHooks(run)
        register(reading, "gpurt-reading")
        register(OutcomeHooks(run, reading), "gpurt-outcomes")
        register(BatchHooks(run), "gpurt-batch")
    if run.options.report is not None and not _is_worker(config):
        from pytest_gpurt.report import ReportHooks

        register(ReportHooks(run), "gpurt-report")


def _is_worker(config: pytest.Config) -> bool:
    """Whether this process runs tests for another one."""
    return hasattr(config, "workerinput")


def _register_counting(run: GpuRun) -> None:
    """What is done around each test, once there is something to count."""
    from pytest_gpurt.scopes import ScopeHooks

    register = run.config.pluginmanager.register
    register(ScopeHooks(run), "gpurt-scopes")
    if _is_worker(run.config):
        from pytest_gpurt.workers import CountsHooks

        register(CountsHooks(run), "gpurt-counts")


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Ends the run."""
    run = config.stash.get(run_key, None)
    if run is not None:
        run.end()
