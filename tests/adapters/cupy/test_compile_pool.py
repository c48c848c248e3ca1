"""Compile processes: the same bytes, and none of them missed when it dies."""

from __future__ import annotations

from collections.abc import Callable

Script = Callable[..., str]

POOL = """
import os, signal, threading
import cupy.cuda.compiler as compiler
from gpurt_core.adapters.cupy.compiler import CudaCompiler, CudaKernel
from gpurt_core.adapters.cupy.keys import KeyMaker
from gpurt_core.adapters.cupy.pool import CompilePool
from gpurt_core.adapters.cupy.request import KernelRequest
from gpurt_core.errors import CompilationError

options = (*cupy._core.core.assemble_cupy_compiler_options(()), "-ftz=true")
keys = KeyMaker(compiler)
HEADERS = "#include <cupy/complex.cuh>\\n#include <cupy/carray.cuh>\\n"

def kernel(number, body="x[0] = sinf(x[1]) * %d;"):
    code = HEADERS + 'extern "C" __global__ void k(float* x) { %s }' % (body % number)
    request = KernelRequest(code, options, "80")
    return CudaKernel(request, keys.key(request))

def finalize(one):
    return pool.finalize(one.key.id, one)

here = CudaCompiler(compiler)
pool = CompilePool(compiler, 2)
"""


def test_kept_headers_change_no_byte(on_null_device: Script) -> None:
    on_null_device(
        """
        pool.start(kernel(0))
        for number in range(6):
            one = kernel(number)
            assert finalize(one).image == here.finalize(one.key.id, one).image
        assert len(pool.seconds) == 6
        pool.close()
        """,
        before=POOL,
    )


def test_headers_that_are_read_ahead_change_no_byte(on_null_device: Script) -> None:
    """CuPy's filters declare types before they include libcu++."""
    on_null_device(
        """
        from gpurt_core.adapters.cupy.precompiled import headers_to_keep
        from gpurt_core.adapters.cupy.seam import CupySeam
        from gpurt_core.environment import Environment
        from gpurt_core.execution import ProcessMode, ProcessModeOverride, StatisticsCollector
        import cupyx.scipy.ndimage as ndimage
        seam = CupySeam(Environment.open("environment"), null_device=device)
        seam.install(compiler)
        with ProcessModeOverride(ProcessMode.COMPILE_ONLY, StatisticsCollector()):
            ndimage.median_filter(cupy.zeros((6, 5), "f"), 3)
            ndimage.gaussian_filter(cupy.zeros((6, 5), "f"), 1.0)
        seam.abandon_queued()
        chosen = [k for k in seam.kernels.values() if headers_to_keep(k.request.source)]
        assert len(chosen) >= 2
        pool.start(chosen[0])
        for one in chosen[:2]:
            assert finalize(one).image == here.finalize(one.key.id, one).image
        pool.close()
        seam.uninstall()
        """,
        before=POOL,
    )


def test_an_error_is_the_compilers_own(on_null_device: Script) -> None:
    on_null_device(
        """
        pool.start(kernel(0))
        with pytest.raises(CompilationError, match='identifier "y" is undefined') as caught:
            finalize(kernel(1, "x[0] = y * %d;"))
        assert isinstance(caught.value.cause, compiler.CompileException)
        assert "/nonexistent/gpurt/" in caught.value.log
        pool.close()
        """,
        before=POOL,
    )


def test_a_process_that_is_killed_is_replaced(on_null_device: Script) -> None:
    on_null_device(
        """
        pool.start(kernel(0))
        finalize(kernel(0))
        for worker in list(pool._workers):
            os.kill(worker._process.pid, signal.SIGKILL)
        for number in range(1, 5):
            assert finalize(kernel(number)).image
        assert len(pool._workers) == 2
        processes = [worker._process for worker in pool._workers]
        folder = pool._folder
        pool.close()
        assert all(process.poll() is not None for process in processes)
        assert not folder.exists()
        """,
        before=POOL,
    )


def test_a_forked_child_compiles_by_itself(on_null_device: Script) -> None:
    on_null_device(
        """
        pool.start(kernel(0))
        finalize(kernel(0))
        child = os.fork()
        if child == 0:
            fine = bool(finalize(kernel(1)).image)
            pool.close()
            os._exit(0 if fine else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert finalize(kernel(2)).image
        pool.close()
        """,
        before=POOL,
    )


def test_processes_that_cannot_be_replaced_are_done_without(on_null_device: Script) -> None:
    on_null_device(
        """
        pool.start(kernel(0))
        finalize(kernel(0))
        def refuse(number):
            raise OSError("as if no process could be had")
        pool._add_worker = refuse
        for worker in list(pool._workers):
            os.kill(worker._process.pid, signal.SIGKILL)
        for number in range(1, 5):
            assert finalize(kernel(number)).image
        pool.close()
        """,
        before=POOL,
    )


def test_a_process_that_crashes_where_headers_are_kept_compiles_without(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        from gpurt_core.adapters.cupy import pool as pools
        asked = []
        class Crashing(pools._Worker):
            def ask(self, content):
                asked.append(b'"headers": null' in content)
                return super().ask(content) if asked[-1] else None
        pools._Worker = Crashing
        pool.start(kernel(0))
        assert finalize(kernel(0)).image == here.finalize("k", kernel(0)).image
        assert asked == [False, True]
        pool.close()
        """,
        before=POOL,
    )
