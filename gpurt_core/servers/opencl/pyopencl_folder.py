"""PyOpenCL keeps code that it generates for its kernels in a folder: where that cannot be, none."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pyopencl

from gpurt_core.servers.opencl.pocl import can_be_written


def settle() -> None:
    """Has PyOpenCL keep nothing where it has no folder; without that it makes no kernel there.

    To be called before PyOpenCL makes its first kernel.
    """
    if not can_be_written(Path(platformdirs.user_cache_dir("pytools", "pytools"))):
        pyopencl._PYOPENCL_NO_CACHE = True
