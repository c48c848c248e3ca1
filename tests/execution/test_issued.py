"""The recorder in force goes from the thread that issues to the one that runs."""

from __future__ import annotations

import asyncio
import threading

import pytest

from gpurt_core.execution import (
    IssuedRecorder,
    KernelRegistration,
    ProcessMode,
    ProcessModeOverride,
    StatisticsCollector,
)


def collector_now() -> StatisticsCollector | None:
    return IssuedRecorder.capture().collector


def test_under_no_override_there_is_none() -> None:
    assert collector_now() is None
    assert KernelRegistration.register() is None


def test_the_applied_one_is_in_force_before_the_open_override() -> None:
    issuing, open_now = StatisticsCollector(), StatisticsCollector()
    with ProcessModeOverride(ProcessMode.EXECUTE, open_now):
        assert collector_now() is open_now
        with IssuedRecorder(issuing).applied():
            assert collector_now() is issuing
            with IssuedRecorder(None).applied():
                assert collector_now() is None
            assert collector_now() is issuing
        assert collector_now() is open_now


def test_it_is_restored_when_the_block_raises() -> None:
    with pytest.raises(ValueError, match="broke"), IssuedRecorder(StatisticsCollector()).applied():
        raise ValueError("broke")
    assert collector_now() is None


def test_it_is_applied_on_its_own_thread_only() -> None:
    seen: list[StatisticsCollector | None] = []
    with IssuedRecorder(StatisticsCollector()).applied():
        thread = threading.Thread(target=lambda: seen.append(collector_now()))
        if hasattr(thread, "_context"):  # from 3.14 on, a thread may inherit its starter's
            pytest.skip("threads may inherit the context")
        thread.start()
        thread.join()
    assert seen == [None]


def test_tasks_and_to_thread_keep_the_one_that_was_applied_where_they_were_made() -> None:
    first, second = StatisticsCollector(), StatisticsCollector()

    async def look() -> tuple[StatisticsCollector | None, StatisticsCollector | None]:
        await asyncio.sleep(0)
        return collector_now(), await asyncio.to_thread(collector_now)

    async def work() -> None:
        with IssuedRecorder(first).applied():
            one = asyncio.create_task(look())
        with IssuedRecorder(second).applied():
            two = asyncio.create_task(look())
            assert await one == (first, first)
            assert await two == (second, second)

    asyncio.run(work())
