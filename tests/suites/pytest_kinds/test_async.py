"""Coroutines: their tasks and threads count to the test."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from small_library import launch  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


async def launch_later(name: str) -> None:
    """Lets others go first."""
    await asyncio.sleep(0)
    launch(name)


@pytest.mark.asyncio
async def test_a_coroutine_counts(gpu_stats: GpuStatistics) -> None:
    await launch_later("of_a_coroutine")
    gpu_stats.expect(obtained=1)


@pytest.mark.asyncio
async def test_tasks_and_threads_count(gpu_stats: GpuStatistics) -> None:
    tasks = [asyncio.create_task(launch_later(f"of_task_{number}")) for number in range(3)]
    await asyncio.gather(*tasks, asyncio.to_thread(launch, "of_to_thread"))
    gpu_stats.expect(obtained=4)


@pytest.mark.asyncio
async def test_a_coroutine_that_reads_is_discarded() -> None:
    values = await asyncio.to_thread(launch, "of_a_reading_coroutine")
    assert float(values[0]) == 1.0
