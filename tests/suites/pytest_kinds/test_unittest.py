"""Test cases of `unittest`: `setUp` is the test's, `setUpClass` is not."""

from __future__ import annotations

import unittest
from typing import TYPE_CHECKING

import pytest
from small_library import launch  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


class CountingCase(unittest.TestCase):
    """Its methods count."""

    stats: GpuStatistics

    @pytest.fixture(autouse=True)
    def _count(self, gpu_stats: GpuStatistics) -> None:
        self.stats = gpu_stats

    @classmethod
    def setUpClass(cls) -> None:
        launch("set_up_class")

    @classmethod
    def tearDownClass(cls) -> None:
        launch("tear_down_class")

    def setUp(self) -> None:
        launch("set_up")

    def tearDown(self) -> None:
        launch("tear_down")

    def test_a_method_pays_for_its_set_up(self) -> None:
        launch("of_a_method")
        self.stats.expect(obtained=2)

    def test_subtests_share_what_they_launch(self) -> None:
        for number in range(3):
            with self.subTest(number=number):
                launch("of_a_subtest")
                assert number >= 0
        self.stats.expect(obtained=2)

    @unittest.expectedFailure
    def test_an_expected_failure(self) -> None:
        launch("of_an_expected_failure")
        self.fail()

    @unittest.skip("skipped by unittest")
    def test_a_skip(self) -> None:
        launch("of_a_skip")


class PlainCase(unittest.TestCase):
    """Its methods do not count."""

    def test_a_shape(self) -> None:
        self.assertEqual(launch("of_a_plain_case").shape, (32,))  # noqa: PT009

    def test_a_value(self) -> None:
        self.assertEqual(float(launch("of_a_plain_value")[0]), 1.0)  # noqa: PT009

    def test_a_value_in_subtests(self) -> None:
        for number in range(3):
            with self.subTest(number=number):
                self.assertEqual(float(launch("of_plain_subtests")[number]), 1.0)  # noqa: PT009


class TestXunit:
    """Set up as in xunit."""

    @classmethod
    def setup_class(cls) -> None:
        """Not the test's."""
        launch("setup_class")

    def setup_method(self) -> None:
        """The test's."""
        launch("setup_method")

    def test_a_method_pays_for_setup_method(self, gpu_stats: GpuStatistics) -> None:
        gpu_stats.expect(obtained=1)
