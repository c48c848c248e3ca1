"""Tests that are expected to fail, and front ends that refuse what they are given."""

from __future__ import annotations

from typing import Any

import cupy
import pytest
from cupy.cuda.compiler import CompileException
from cupyx import jit

pytestmark = pytest.mark.usefixtures("gpu_stats")


@pytest.mark.xfail(raises=CompileException, strict=True)
def test_a_strictly_expected_failure_fails() -> None:
    bad = cupy.ElementwiseKernel("T x", "T y", "y = x + gone", "expected_to_fail")
    bad(cupy.zeros(4, cupy.float32))


@pytest.mark.xfail(raises=CompileException, strict=True)
def test_a_strictly_expected_failure_that_passes_is_a_failure() -> None:
    good = cupy.ElementwiseKernel("T x", "T y", "y = x + 2", "expected_to_fail_and_does_not")
    good(cupy.zeros(4, cupy.float32))


@pytest.mark.xfail(raises=CompileException, strict=True)
def test_a_fusion_without_a_name_fails() -> None:
    cupy.fuse(lambda x: x + 1)(cupy.zeros(4))  # the kernel is called <lambda>


def test_a_jit_kernel_without_source_is_refused() -> None:
    namespace: dict[str, Any] = {"jit": jit}
    exec("@jit.rawkernel()\ndef kernel(x):\n    x[0] = 1\n", namespace)
    with pytest.raises((OSError, ValueError), match="source"):
        namespace["kernel"]((1,), (1,), (cupy.zeros(1),))


def test_a_jit_kernel_of_an_unknown_name_is_refused() -> None:
    @jit.rawkernel()  # type: ignore[untyped-decorator]
    def kernel(x: Any) -> None:
        x[0] = undefined_name  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(NameError, match="undefined_name"):
        kernel((1,), (1,), (cupy.zeros(1),))
