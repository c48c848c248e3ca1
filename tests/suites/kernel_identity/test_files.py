"""Modules of files: what is in the file counts, not its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import cupy
import pytest
from cupy.cuda import driver, nvrtc

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


def cubin_of(function: str) -> bytes:
    """A cubin with an empty kernel of this name."""
    program = nvrtc.createProgram(f'extern "C" __global__ void {function}() {{}}', "f.cu", (), ())
    nvrtc.compileProgram(program, ("-arch=sm_80",))
    image: bytes = nvrtc.getCUBIN(program)
    nvrtc.destroyProgram(program)
    return image


def test_each_file_has_its_own_functions(gpu_stats: GpuStatistics, tmp_path: Path) -> None:
    for function, other in (("one", "two"), ("two", "one")):
        path = tmp_path / f"{function}.cubin"
        path.write_bytes(cubin_of(function))
        module = cupy.RawModule(path=str(path))
        module.get_function(function)((1,), (1,), ())
        with pytest.raises(driver.CUDADriverError, match="NOT_FOUND"):
            module.get_function(other)
    gpu_stats.expect(obtained=0)


def test_a_file_and_a_source_do_not_meet(gpu_stats: GpuStatistics, tmp_path: Path) -> None:
    (tmp_path / "module.cubin").write_bytes(cubin_of("both_ways"))
    cupy.RawModule(path=str(tmp_path / "module.cubin")).get_function("both_ways")((1,), (1,), ())
    source = 'extern "C" __global__ void both_ways() {}'
    cupy.RawKernel(source, "both_ways")((1,), (1,), ())
    gpu_stats.expect(obtained=1)
