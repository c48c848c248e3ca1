"""A second attempt at a test is as fresh as the first."""

from __future__ import annotations

from tests.plugin.conftest import RunSuite

INSTANCE = """
import cupy, pytest

class TestOfAClass:
    def test_has_an_instance_of_its_own(self):
        assert not hasattr(self, "seen")
        self.seen = True
        with pytest.raises(cupy.cuda.compiler.CompileException):
            cupy.RawKernel('extern "C" __global__ void k(float* x) { y; }', "k").compile()

    def test_again_at_the_end(self):
        assert not hasattr(self, "seen")
        self.seen = True
        try:
            cupy.RawKernel('extern "C" __global__ void k(float* x) { z; }', "k").compile()
        except cupy.cuda.compiler.CompileException:
            pass
"""


def test_an_eager_attempt_at_a_method_has_an_instance_of_its_own(run_files: RunSuite) -> None:
    run = run_files({"test_class.py": INSTANCE})
    assert run.code == 0, run.output
    assert {outcome for outcome, _ in run.outcomes.values()} == {"passed"}
    assert "once more, because kernels do not compile: 1 test" in run.output
