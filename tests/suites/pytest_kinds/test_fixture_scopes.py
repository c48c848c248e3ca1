"""Fixtures of every scope, all set up by the first test that needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from small_library import launch  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


class TestScopes:
    """Two tests that use the same fixtures."""

    def test_the_first_pays_for_its_own_function_fixture(
        self, gpu_stats: GpuStatistics, of_function: str
    ) -> None:
        assert of_function == "function of class of module of package of session"
        gpu_stats.expect(obtained=1)

    def test_the_second_pays_the_same(self, gpu_stats: GpuStatistics, of_function: str) -> None:
        launch("function_setup")
        gpu_stats.expect(obtained=1)


@pytest.fixture(params=["small", "large"])
def size(request: pytest.FixtureRequest) -> str:
    """A kernel for each parameter."""
    launch(f"of_{request.param}")
    return str(request.param)


@pytest.mark.parametrize("kind", ["a", "b"])
def test_parameters_multiply(gpu_stats: GpuStatistics, size: str, kind: str) -> None:
    launch(f"of_{size}_{kind}")
    gpu_stats.expect(obtained=2)


@pytest.mark.usefixtures("of_module")
def test_a_fixture_that_is_only_used_costs_nothing_here(gpu_stats: GpuStatistics) -> None:
    gpu_stats.expect(obtained=0)


@pytest.fixture
def finalized(request: pytest.FixtureRequest) -> None:
    """Launches in a finalizer alone."""
    request.addfinalizer(lambda: launch("of_a_finalizer"))  # noqa: PT021


def test_a_finalizer_is_the_tests_own(gpu_stats: GpuStatistics, finalized: None) -> None:
    gpu_stats.expect(obtained=0)  # and one afterwards


def test_a_fixture_that_is_asked_for_late_is_the_tests_own(
    gpu_stats: GpuStatistics, request: pytest.FixtureRequest
) -> None:
    gpu_stats.expect(obtained=0)
    request.getfixturevalue("of_function")
    gpu_stats.expect(obtained=1)
