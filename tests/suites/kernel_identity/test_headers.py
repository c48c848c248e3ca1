"""Headers of the user's: their content is part of a kernel, what lies beside them is not.

The folder is made to be copied, and edited between two runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import cupy
import pytest

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics

INCLUDE = Path(__file__).parent / "include"
SOURCE = '#include "{header}"\nextern "C" __global__ void {name}(int* x) {{ x[0] = {value}; }}'


def launch(header: str, name: str, value: str, *options: str) -> Any:
    """A kernel that includes a header, launched."""
    source = SOURCE.format(header=header, name=name, value=value)
    cupy.RawKernel(source, name, options)((1,), (1,), (cupy.zeros(1, cupy.int32),))


def test_a_header_that_includes_another(gpu_stats: GpuStatistics) -> None:
    launch("outer.cuh", "nested", "VALUE", f"-I{INCLUDE}")
    gpu_stats.expect(obtained=1)


def test_the_order_of_folders_decides_and_is_kept(gpu_stats: GpuStatistics) -> None:
    one, two = f"-I{INCLUDE / 'one'}", f"-I{INCLUDE / 'two'}"
    launch("which.cuh", "which", "WHICH", one, two)
    launch("which.cuh", "which", "WHICH", two, one)
    gpu_stats.expect(obtained=2)


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the tests that edit its header."""
    return tmp_path_factory.mktemp("edited")


@pytest.mark.parametrize(("when", "value"), [("first", 1), ("edited", 2), ("restored", 1)])
def test_an_edit_between_two_tests_is_seen(
    gpu_stats: GpuStatistics, gpu_fresh_environment: Path, edited: Path, when: str, value: int
) -> None:
    (edited / "edited.cuh").write_text(f"#define EDITED {value}\n", encoding="utf-8")
    launch("edited.cuh", "edited", "EDITED", f"-I{edited}")
    gpu_stats.expect(obtained=1, compiled=1)


def test_two_folders_with_the_same_header_are_one_kernel(
    gpu_stats: GpuStatistics, tmp_path: Path
) -> None:
    for folder in (tmp_path / "here", tmp_path / "there"):
        folder.mkdir()
        (folder / "same.cuh").write_text("#define SAME 1\n", encoding="utf-8")
        launch("same.cuh", "same", "SAME", f"-I{folder}")
    gpu_stats.expect(obtained=1)
