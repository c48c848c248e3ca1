"""Which headers of a source are kept precompiled."""

from __future__ import annotations

import pytest

from gpurt_core.adapters.cupy.precompiled import headers_to_keep

AHEAD = """#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
typedef float X;  // of this kernel
#include <cupy/cuda_workaround.h>
"""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('extern "C" __global__ void k() {}', None),
        ("#include <cub/cub.cuh>\n__global__ void k() {}", ()),
        ("// text\n/* more\n */\n#define N 3\n#include <mine.cuh>\n", ()),
        (AHEAD, ("cupy/complex.cuh", "cupy/carray.cuh", "cupy/cuda_workaround.h")),
        (AHEAD + "#include <cupy/carray.cuh>", headers_to_keep(AHEAD)),
        (AHEAD + "#include <cub/cub.cuh>", None),
        (AHEAD + "#define X 1\n", headers_to_keep(AHEAD)),
        ("#define N 3\n" + AHEAD, None),
        ("int x;\n#include <mine.cuh>\n", None),
        ("int x;\n// #include <mine.cuh>\n", None),
    ],
)
def test_headers_to_keep(source: str, expected: tuple[str, ...] | None) -> None:
    assert headers_to_keep(source) == expected
