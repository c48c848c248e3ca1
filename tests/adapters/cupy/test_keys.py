"""What makes a kernel another one, and what does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpurt_core.adapters.cupy.explain import explain_missing
from gpurt_core.adapters.cupy.keys import KeyMaker
from gpurt_core.adapters.cupy.options import with_absolute_folders, with_moved_paths
from gpurt_core.adapters.cupy.request import KernelRequest
from gpurt_core.compilation import find_headers


class Compiler:
    """The parts of `cupy.cuda.compiler` that a key is made with."""

    def __init__(self, version: tuple[int, int] = (13, 5), build: str = "build 1") -> None:
        self.version, self.build = version, build

    def _get_nvrtc_version(self) -> tuple[int, int]:
        return self.version

    def _preprocess(self, source: str, options: tuple[str, ...], arch: str, backend: str) -> str:
        return f"{self.build} {self.version}"

    def _get_arch_for_options_for_nvrtc(self, arch: str) -> tuple[str, str]:
        return f"-arch=sm_{arch}", "cubin"

    def _get_cupy_cache_key(self) -> str:
        return "cupy headers"


def id_of(request: KernelRequest, compiler: Compiler | None = None, cupy: str = "/cupy") -> str:
    maker = KeyMaker(compiler or Compiler())
    maker._known = {cupy: "cupy"}
    return maker.key(request).id


def request(**changes: Any) -> KernelRequest:
    content: dict[str, Any] = {
        "source": "__global__ void k() {}",
        "options": ("-DW=1", "-DW=2"),
        "arch": "80",
        **changes,
    }
    return KernelRequest(**content)


@pytest.mark.parametrize(
    "changes",
    [
        {"source": "__global__ void k() { }"},
        {"options": ("-DW=2", "-DW=1")},
        {"options": ("-DW=1",)},
        {"arch": "90"},
        {"backend": "nvcc"},
        {"name_expressions": ("k<int>",)},
        {"jitify": True},
    ],
)
def test_a_change_of_what_is_compiled_is_another_kernel(changes: dict[str, Any]) -> None:
    assert id_of(request(**changes)) != id_of(request())


def test_another_compiler_is_another_kernel_down_to_its_build() -> None:
    base = id_of(request())
    assert id_of(request(), Compiler(version=(13, 6))) != base
    assert id_of(request(), Compiler(build="build 2")) != base
    assert id_of(request(), Compiler()) == base


def test_the_order_and_repetition_of_name_expressions_do_not_count() -> None:
    ids = {
        id_of(request(name_expressions=names))
        for names in (("k<int>", "k<float>"), ("k<float>", "k<int>", "k<int>"))
    }
    assert len(ids) == 1
    assert id_of(request(name_expressions=("k< int >", "k<float>"))) not in ids


def test_where_things_are_installed_does_not_count() -> None:
    here = request(options=("-I/here/cupy/include", "-DX"))
    there = request(options=("-I/there/cupy/include", "-DX"))
    assert id_of(here, cupy="/here/cupy") == id_of(there, cupy="/there/cupy")


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    return tmp_path / "one", tmp_path / "two"


def including(*options: str) -> KernelRequest:
    return request(source='#include "outer.cuh"\n__global__ void k() {}', options=options)


def test_a_header_counts_by_content_also_where_another_includes_it(
    folders: tuple[Path, Path],
) -> None:
    one, _ = folders
    ask = including(f"-I{one}")
    missing = id_of(ask)
    (one / "outer.cuh").write_text('#include "inner.cuh"')
    (one / "inner.cuh").write_text("#define V 1")
    first = id_of(ask)
    (one / "inner.cuh").write_text("#define V 2")
    second = id_of(ask)
    (one / "unrelated.cuh").write_text("#define W 1")
    assert id_of(ask) == second
    (one / "inner.cuh").write_text("#define V 1")
    assert id_of(ask) == first
    assert len({missing, first, second}) == 3


def test_the_order_of_folders_counts_where_it_decides(folders: tuple[Path, Path]) -> None:
    one, two = folders
    (one / "outer.cuh").write_text("#define V 1")
    (two / "outer.cuh").write_text("#define V 2")
    assert id_of(including(f"-I{one}", f"-I{two}")) != id_of(including(f"-I{two}", f"-I{one}"))


def test_a_header_that_appears_in_front_of_another_counts(folders: tuple[Path, Path]) -> None:
    one, two = folders
    (two / "outer.cuh").write_text("#define V 2")
    ask = including(f"-I{one}", f"-I{two}")
    before = id_of(ask)
    (one / "outer.cuh").write_text("#define V 1")
    assert id_of(ask) != before
    (one / "outer.cuh").unlink()
    assert id_of(ask) == before


def test_headers_are_the_same_in_another_folder(folders: tuple[Path, Path]) -> None:
    for folder in folders:
        (folder / "outer.cuh").write_text("#define V 1")
    one, two = folders
    assert id_of(including(f"-I{one}")) == id_of(including(f"-I{two}"))


@pytest.mark.parametrize(
    "source",
    [
        '#define H "outer.cuh"\n#include H',
        '#if __has_include("outer.cuh")\n#endif',
        '#  include \\\n "outer.cuh"',
        "%:include <outer.cuh>",
    ],
)
def test_headers_that_are_named_in_other_ways_count(
    folders: tuple[Path, Path], source: str
) -> None:
    one, _ = folders
    ask = request(source=source, options=(f"-I{one}",))
    before = id_of(ask)
    (one / "outer.cuh").write_text("#define V 1")
    assert id_of(ask) != before


def test_headers_that_include_each_other_end(folders: tuple[Path, Path]) -> None:
    one, _ = folders
    (one / "outer.cuh").write_text('#include "inner.cuh"')
    (one / "inner.cuh").write_text('#include "outer.cuh"')
    assert len(find_headers('#include "outer.cuh"', [str(one)], {}).contents) == 2


def test_relative_folders_are_those_of_where_the_kernel_was_asked_for(tmp_path: Path) -> None:
    options = ("-Iinclude", "-I", "more", "-DX", "--include-path=/absolute")
    assert with_absolute_folders(options, "/here") == (
        "-I/here/include",
        "-I/here/more",
        "-DX",
        "-I/absolute",
    )
    untouched = ("-I/absolute", "--std=c++17")
    assert with_absolute_folders(untouched, "/here") is untouched


def test_a_header_that_has_changed_since_is_compiled_as_it_was(
    folders: tuple[Path, Path],
) -> None:
    one, _ = folders
    (one / "outer.cuh").write_text("#define V 1")
    found = find_headers('#include "outer.cuh"', [str(one)], {})
    with found.as_they_were() as moved:
        assert moved is None
    (one / "outer.cuh").write_text("#define V 2")
    with found.as_they_were() as moved:
        assert moved is not None
        folder, other = with_moved_paths((f"-I{one}", "-DX"), moved)
        assert other == "-DX"
        assert Path(folder[2:], "outer.cuh").read_text() == "#define V 1"


def test_a_label_is_what_people_call_the_kernel() -> None:
    assert request(source="__global__ void one(int a) {} __global__ void two() {}").label == (
        "one, two"
    )
    bounds = 'extern "C" __global__ void __launch_bounds__(128, 2)\nfused(float* x) {}'
    assert request(source=bounds).label == "fused"
    assert request(name_expressions=("k<float>",)).label == "k<float>"
    assert request(source="int x;").label == "kernel without a name"
    assert len(request(source=f"__global__ void {'k' * 3000}() {{}}").label) == 60


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"source": "other"}, "its source has changed"),
        ({"architecture": "90"}, "another architecture: sm_90, not sm_80"),
        ({"options": '["-DA=2"]'}, "its options have changed: now -DA=1, no longer -DA=2"),
        ({"compiler": "newer", "source": "s2"}, "its source has changed, and the compiler is"),
    ],
)
def test_why_a_kernel_was_not_found_is_what_differs_from_the_nearest(
    changes: dict[str, str], said: str
) -> None:
    parts = {"source": "s", "architecture": "80", "options": '["-DA=1"]', "compiler": "c"}
    far = {"source": "x", "architecture": "75", "options": "[]", "compiler": "y"}
    assert said in explain_missing(parts, [far, {**parts, **changes}])


def test_a_kernel_of_a_new_name_is_said_to_be_that() -> None:
    assert explain_missing({}, []) == "the environment has nothing of this name"
