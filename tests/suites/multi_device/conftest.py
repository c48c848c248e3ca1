"""Skips tests that need two devices, as on a machine with one."""

from __future__ import annotations

import cupy
import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
    config.addinivalue_line("markers", "multi_gpu(n): needs so many devices.")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips."""
    marker = item.get_closest_marker("multi_gpu")
    if marker is not None and cupy.cuda.runtime.getDeviceCount() < marker.args[0]:
        pytest.skip(f"needs {marker.args[0]} devices")
