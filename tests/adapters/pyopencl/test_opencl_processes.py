"""The seam in fresh processes and in forks: PoCL's folder, no home, children that compile."""

from __future__ import annotations

import pytest

from tests.servers.fresh_python import run_python

PLAIN_CODE = """
    import numpy, os
    from gpurt_core.adapters.pyopencl import PyOpenCLSeam
    seam = PyOpenCLSeam.install()
    import pyopencl as cl
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    host = numpy.ones(4, numpy.float32)
    x = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
    text = "__kernel void f(__global float *x) { x[get_global_id(0)] += 1; }"
    cl.Program(context, text).build().f(queue, (4,), None, x)
    cl.enqueue_copy(queue, host, x)
    print(host.tolist())
"""


@pytest.mark.parametrize("environment", [{}, {"HOME": None}, {"HOME": "/proc/x"}])
def test_plain_code_runs_with_and_without_a_home(environment: dict[str, str | None]) -> None:
    assert run_python(PLAIN_CODE, environment) == "[2.0, 2.0, 2.0, 2.0]\n"


def test_the_child_of_a_fork_compiles_what_it_reaches_and_not_what_its_parent_queued() -> None:
    output = run_python(
        """
        import os, signal
        from gpurt_core.adapters.pyopencl import PyOpenCLSeam
        from gpurt_core.execution import *
        from tests.servers.conftest import Store
        store = Store()
        seam = PyOpenCLSeam.install(store)
        import pyopencl as cl
        context = cl.create_some_context(interactive=False)
        text = "__kernel void f(__global float *x) { x[0] = %d; }"
        collector = StatisticsCollector()
        with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
            cl.Program(context, text % 1).build()
            child = os.fork()
            if not child:
                signal.alarm(30)
                assert seam.queued_count == 0
                cl.Program(context, text % 2).build()
                seam.compile_queued()
                print("child", len(store.kept), flush=True)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            seam.compile_queued()
        print("parent", collector.statistics().compilation.compiled)
        """
    )
    assert output == "child 1\nparent 1\n"
