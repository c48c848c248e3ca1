"""Tests that expect a compile error: it comes at the statement, as without the plugin."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import cupy
import pytest
from cupy.cuda.compiler import CompileException

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics


pytestmark = pytest.mark.usefixtures("gpu_stats")


def kernel(name: str, statement: str, options: tuple[str, ...] = ()) -> Any:
    """A kernel with one statement."""
    source = f'extern "C" __global__ void {name}(float* values) {{ {statement} }}'
    return cupy.RawKernel(source, name, options)


def launch(function: Any) -> None:
    """One launch."""
    function((1,), (1,), (cupy.zeros(1, cupy.float32),))


def test_compile_raises_at_once(gpu_stats: GpuStatistics) -> None:
    with pytest.raises(CompileException) as caught:
        kernel("compiles_not", "values[0] = undeclared;").compile()
    assert "undeclared" in str(caught.value)
    gpu_stats.expect(obtained=0, failed=1)


def test_a_launch_raises_at_once() -> None:
    with pytest.raises(CompileException, match="expected a"):
        launch(kernel("launches_not", "values[0] = 1"))


def test_an_elementwise_kernel_raises_at_once() -> None:
    square = cupy.ElementwiseKernel("float32 x", "float32 y", "y = x * nothing", "squares_not")
    with pytest.raises(CompileException, match="nothing"):
        square(cupy.zeros(4, cupy.float32))


def test_a_reduction_raises_at_once() -> None:
    total = cupy.ReductionKernel("T x", "T y", "x", "a + b", "y = c", "0", "sums_not")
    with pytest.raises(CompileException, match='"c" is undefined'):
        total(cupy.zeros(4, cupy.float32))


def test_a_module_raises_when_a_function_is_taken() -> None:
    module = cupy.RawModule(code='extern "C" __global__ void nothing_works() { oops(); }')
    with pytest.raises(CompileException, match="oops"):
        module.get_function("nothing_works")


def test_a_template_that_does_not_fit_its_type_raises() -> None:
    code = "template<typename T> __global__ void t(T* x) { x->missing(); }"
    module = cupy.RawModule(code=code, name_expressions=("t<float>",))
    with pytest.raises(CompileException, match="class type"):
        module.get_function("t<float>")


def test_a_missing_header_raises() -> None:
    source = '#include "no_such_header.cuh"\nextern "C" __global__ void lonely() {}'
    with pytest.raises(CompileException, match=r"no_such_header\.cuh"):
        cupy.RawKernel(source, "lonely").compile()


def test_a_broken_header_raises(include: Path) -> None:
    source = '#include "broken.cuh"\nextern "C" __global__ void includes() {}'
    with pytest.raises(CompileException, match="expected a"):
        cupy.RawKernel(source, "includes", (f"-I{include}",)).compile()


def test_an_option_that_there_is_not_raises() -> None:
    with pytest.raises(CompileException, match="no-such-option"):
        kernel("optional", "", ("--no-such-option",)).compile()


def test_a_wrong_error_text_is_a_failure() -> None:
    with pytest.raises(CompileException, match="a text that no compiler writes"):
        kernel("says_something_else", "values[0] = undeclared;").compile()


@pytest.mark.gpu_eager
def test_an_error_of_a_marked_test_comes_at_once() -> None:
    with pytest.raises(CompileException, match="undeclared"):
        launch(kernel("marked_eager", "values[0] = undeclared;"))
