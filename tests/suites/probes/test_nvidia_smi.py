"""Skipped where the tool of the driver finds no device."""

from __future__ import annotations

import shutil
import subprocess

import cupy
import pytest


def lists_a_device() -> bool:
    """Whether `nvidia-smi -L` names one."""
    if shutil.which("nvidia-smi") is None:
        return False
    done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return done.returncode == 0 and "GPU 0" in done.stdout


pytestmark = pytest.mark.skipif(not lists_a_device(), reason="nvidia-smi lists no device")


def test_a_kernel_keeps_the_shape() -> None:
    assert cupy.arctanh(cupy.zeros((2, 3), cupy.float32)).shape == (2, 3)
