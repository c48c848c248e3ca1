"""Modules that were compiled elsewhere: cubin and PTX. They are loaded, and nothing is compiled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import cupy
import pytest
from cupy.cuda import driver, nvrtc

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics

SOURCE = 'extern "C" __global__ void elsewhere(float* x) { x[threadIdx.x] = 1.0f; }'


def compiled(kind: str) -> bytes:
    """The image of the kernel, by NVRTC itself."""
    program = nvrtc.createProgram(SOURCE, "elsewhere.cu", (), ())
    architecture = "sm_80" if kind == "cubin" else "compute_80"
    nvrtc.compileProgram(program, (f"-arch={architecture}",))
    image: bytes = nvrtc.getCUBIN(program) if kind == "cubin" else nvrtc.getPTX(program)
    nvrtc.destroyProgram(program)
    return image


@pytest.fixture(params=["cubin", "ptx"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file with the module."""
    file = tmp_path / f"module.{request.param}"
    file.write_bytes(compiled(request.param))
    return file


def test_a_module_of_a_file_costs_no_kernel(gpu_stats: GpuStatistics, path: Path) -> None:
    module = cupy.RawModule(path=str(path))
    module.get_function("elsewhere")((1,), (32,), (cupy.zeros(32, cupy.float32),))
    gpu_stats.expect(obtained=0)


def test_a_function_that_the_file_lacks_is_an_error(gpu_stats: GpuStatistics, path: Path) -> None:
    with pytest.raises(driver.CUDADriverError, match="NOT_FOUND"):
        cupy.RawModule(path=str(path)).get_function("somewhere")
    gpu_stats.expect(obtained=0)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(driver.CUDADriverError):
        cupy.RawModule(path=str(tmp_path / "missing.cubin")).get_function("elsewhere")


def test_half_a_file_is_an_error(path: Path) -> None:
    if path.suffix == ".ptx":
        pytest.skip("half a PTX may be a whole one")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(driver.CUDADriverError):
        cupy.RawModule(path=str(path)).get_function("elsewhere")
