"""A library that allocates and compiles when it is imported, and asks what the device is."""

from __future__ import annotations

from typing import Any

import cupy

NOTHING = cupy.zeros(1)
ARCHITECTURE: str = cupy.cuda.Device().compute_capability
NAME: str = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()

_SCALE = cupy.RawKernel(
    f'extern "C" __global__ void scale(float* x) {{ x[threadIdx.x] *= {ARCHITECTURE}; }}', "scale"
)
_SCALE.compile()
_module = cupy.RawModule(
    code="""
    extern "C" __global__ void first(float* x) { x[threadIdx.x] += 1; }
    extern "C" __global__ void second(float* x) { x[threadIdx.x] += 2; }
    """
)
FUNCTIONS: dict[str, Any] = {name: _module.get_function(name) for name in ("first", "second")}
TABLE = cupy.arange(8)


def scale(values: Any) -> Any:
    """Multiplies 32 numbers."""
    _SCALE((1,), (32,), (values,))
    return values
