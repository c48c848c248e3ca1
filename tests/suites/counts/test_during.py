"""`during`: the work of a block, and of blocks in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics
    from tests.suites.counts.conftest import Doubling


def test_a_block_counts_its_own_kernels(gpu_stats: GpuStatistics, doubling: Doubling) -> None:
    doubling("before_the_block")()
    with gpu_stats.during() as block:
        doubling("in_the_block_1")()
        doubling("in_the_block_2")()
    block.expect(obtained=2)
    gpu_stats.expect(obtained=3)


def test_a_block_that_repeats_what_was_done_costs_nothing(
    gpu_stats: GpuStatistics, doubling: Doubling
) -> None:
    launch = doubling("warmed_up")
    launch()
    with gpu_stats.during() as second:
        launch()
    second.expect(obtained=0)
    gpu_stats.expect(obtained=1)


def test_blocks_in_blocks_each_count(gpu_stats: GpuStatistics, doubling: Doubling) -> None:
    with gpu_stats.during() as outer:
        doubling("outer_block")()
        with gpu_stats.during() as inner:
            doubling("inner_block")()
        inner.expect(obtained=1)
    outer.expect(obtained=2)


def test_a_block_has_not_what_comes_after_it(gpu_stats: GpuStatistics, doubling: Doubling) -> None:
    with gpu_stats.during() as block:
        doubling("of_this_block")()
    doubling("after_this_block")()
    block.expect(obtained=1)
    gpu_stats.expect(obtained=2)


def test_a_block_that_raises_has_counted(gpu_stats: GpuStatistics, doubling: Doubling) -> None:
    with pytest.raises(ZeroDivisionError), gpu_stats.during() as block:  # noqa: PT012
        doubling("then_it_raised")()
        _ = 1 // 0
    block.expect(obtained=1)


def test_a_block_names_its_kernels(gpu_stats: GpuStatistics, doubling: Doubling) -> None:
    doubling("not_of_the_block")()
    with gpu_stats.during() as block:
        doubling("of_the_block")()
        assert [kernel.label for kernel in block.kernels] == ["of_the_block"]


def test_a_block_with_a_wrong_expectation_fails(
    gpu_stats: GpuStatistics, doubling: Doubling
) -> None:
    with gpu_stats.during() as block:
        doubling("the_block_has_one")()
    block.expect(obtained=0)
