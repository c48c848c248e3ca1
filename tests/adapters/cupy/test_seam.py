"""The compile seam on the null device: what is counted, kept, and the same as without it."""

from __future__ import annotations

from collections.abc import Callable

Script = Callable[..., str]

SEAM = """
import cupy.cuda.compiler as compiler
from gpurt_core.adapters.cupy.observer import SeamObserver
from gpurt_core.adapters.cupy.seam import CupySeam
from gpurt_core.environment import Environment
from gpurt_core.execution import (
    ProcessMode, ProcessModeOverride, ServiceStream, StatisticsCollector, StreamMode,
    StreamModeOverride,
)

class Telling(SeamObserver):
    def __init__(self):
        self.settledones, self.missing = [], []
    def settled(self, report):
        self.settledones.append(report)
    def unusable(self, id, label, reason):
        self.missing.append(reason)

def counts(collector):
    c = collector.statistics().compilation
    return (c.registered, c.compiled, c.loaded, c.failed, c.stored)

KERNEL = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] *= 2; }'
telling = Telling()
environment = Environment.open("env", must_write=True)
seam = CupySeam(environment, null_device=device, observer=telling, claims=environment)
seam.install(compiler)
collector = StatisticsCollector("all")
"""


def test_the_bytes_are_those_that_plain_cupy_compiles(on_null_device: Script) -> None:
    on_null_device(
        """
        from cupy.cuda import compiler
        kept = {}
        class Backend:
            def load(self, name):
                return None
            def save(self, name, cubin, source):
                kept[source] = cubin
        def work():
            x = cupy.zeros((8, 8), "float32")
            x + x, cupy.sin(x), x.sum(axis=0), x.astype("int64") % 3, cupy.sort(x)
            cupy.RawKernel('extern "C" __global__ void k(double* x) { x[0] = sin(x[1]); }', "k")(
                (1,), (1,), (x,))
            cupy.ElementwiseKernel("T x", "T y", "y = x * x + 1", "square_plus_one")(x)
            cupy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")(x, axis=1)
            template = "template<typename T> __global__ void t(T* x) { x[0] = T(1); }"
            module = cupy.RawModule(code=template, name_expressions=["t<float>", "t<double>"])
            module.get_function("t<double>")((1,), (1,), (x,))
        before = compiler._kernel_cache_backend
        compiler._set_kernel_cache_backend(Backend())
        work()
        compiler._set_kernel_cache_backend(before)
        plain = {s: c[c.find(bytes([127]) + b"ELF"):] for s, c in kept.items()}
        """,
        before=SEAM.replace("seam.install(compiler)", ""),
        after="""
        seam.install(compiler)
        cupy.clear_memo()
        with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
            work()
            seam.compile_queued()
        ours = {
            kernel.request.source: environment.artifact(id)
            for id, kernel in seam.kernels.items()
        }
        assert len(ours) >= 5, len(ours)
        for source, artifact in ours.items():
            assert artifact[artifact.find(bytes([127]) + b"ELF"):] == plain[source], source
        seam.uninstall()
        """,
    )


def test_gathering_compiles_nothing_and_a_batch_compiles_each_kernel_once(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        x = cupy.zeros(8, "float32")
        with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
            for _ in range(3):
                x + x
                cupy.RawKernel(KERNEL, "k")((1,), (8,), (x,))
            assert counts(collector) == (2, 0, 0, 0, 0), counts(collector)
            assert seam.queued_count == 2
            seam.compile_queued()
            assert counts(collector) == (2, 2, 0, 0, 2)
            x + x
            assert counts(collector) == (2, 2, 0, 0, 2)
            seam.begin_generation()
            x + x
            seam.compile_queued()
            assert counts(collector) == (3, 2, 1, 0, 2)
        seam.uninstall()
        """,
        before=SEAM,
    )


def test_a_stream_in_execute_loads_while_the_process_queues(on_null_device: Script) -> None:
    on_null_device(
        """
        x = cupy.zeros(8, "float32")
        stream = cupy.cuda.Stream()
        with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
            with StreamModeOverride(StreamMode.EXECUTE, ServiceStream("cuda:0", stream.ptr)):
                cupy.RawKernel(KERNEL, "k")((1,), (8,), (x,))
                assert counts(collector)[1] == 0
                with stream:
                    cupy.RawKernel(KERNEL, "k")((1,), (8,), (x,))
                assert counts(collector)[1] == 1
        seam.uninstall()
        """,
        before=SEAM,
    )


def test_attributes_and_globals_of_a_queued_kernel_are_those_of_the_compiled_one(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        code = '''__constant__ float weights[10];
        extern "C" __global__ void k(float* x) { __shared__ float s[32]; s[threadIdx.x] = x[0];
        __syncthreads(); x[1] = s[3] * weights[2]; }'''
        with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
            module = cupy.RawModule(code=code)
            kernel = module.get_function("k")
            assert counts(collector) == (1, 0, 0, 0, 0), counts(collector)
            assert kernel.num_regs > 0, kernel.num_regs
            assert kernel.shared_size_bytes >= 128, kernel.shared_size_bytes
            assert counts(collector)[1] == 1
            assert counts(collector)[1] == 1, counts(collector)
            kernel.max_dynamic_shared_size_bytes = 1024
            assert kernel.max_dynamic_shared_size_bytes == 1024
            weights = cupy.ndarray(10, "float32", module.get_global("weights"))
            weights[...] = cupy.asarray(numpy.arange(10, dtype="float32"))
        seam.uninstall()
        """,
        before=SEAM,
    )


def test_what_cupy_raises_is_raised_when_kernels_are_compiled_where_they_are_asked_for(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        bad = 'extern "C" __global__ void k(float* x) { x[0] = missing; }'
        with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
            cupy.RawKernel(bad, "k")((1,), (1,), (cupy.zeros(1, "float32"),))
            seam.compile_queued()
            assert counts(collector) == (1, 0, 0, 1, 0)
            assert "missing" in telling.settledones[-1].log
            seam.eager = True
            for _ in range(2):
                with pytest.raises(compiler.CompileException, match="missing"):
                    cupy.RawKernel(bad, "k").compile()
            with pytest.raises(cupy.cuda.driver.CUDADriverError, match="NOT_FOUND"):
                cupy.RawModule(code=KERNEL).get_function("other")
            seam.eager = False
            with pytest.raises(cupy.cuda.driver.CUDADriverError, match="NOT_FOUND"):
                cupy.RawModule(code=KERNEL + "// ").get_function("other")
            mangled = '''extern "C" __global__ void a() {} __global__ void b() {}'''
            cupy.RawModule(code=mangled).get_function("b")
            seam.compile_queued()
            assert telling.missing == ["a, b has no function named 'b'"], telling.missing
        seam.uninstall()
        """,
        before=SEAM,
    )


def test_launches_are_checked_as_the_driver_would(on_null_device: Script) -> None:
    on_null_device(
        """
        x = cupy.zeros(8, "float32")
        with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
            kernel = cupy.RawKernel(KERNEL, "k")
            kernel((1,), (1024,), (x,))
            for grid, block, shared in (((1,), (1025,), 0), ((1, 65536), (1,), 0),
                                         ((1,), (1,), 1 << 20)):
                with pytest.raises(cupy.cuda.driver.CUDADriverError, match="INVALID_VALUE"):
                    kernel(grid, block, (x,), shared_mem=shared)
            with pytest.raises(TypeError, match="numpy.ndarray"):
                kernel((1,), (1,), (numpy.zeros(8),))
        seam.uninstall()
        """,
        before=SEAM,
    )


def test_threads_that_reach_the_same_kernels_count_them_once(on_null_device: Script) -> None:
    on_null_device(
        """
        import threading
        def work():
            x = cupy.zeros(8, "float32")
            for number in range(5):
                code = KERNEL.replace("2", str(number))
                cupy.RawKernel(code, "k")((1,), (8,), (x,))
        with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
            threads = [threading.Thread(target=work) for _ in range(8)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            seam.compile_queued()
            assert counts(collector) == (5, 5, 0, 0, 5), counts(collector)
        seam.uninstall()
        """,
        before=SEAM,
    )


def test_kernels_that_wait_come_back_from_their_text(on_null_device: Script) -> None:
    on_null_device(
        """
        from gpurt_core.adapters.cupy.payload import decode_kernel, encode_kernel
        with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
            cupy.RawKernel(KERNEL, "k")((1,), (8,), (cupy.zeros(8, "float32"),))
            (id, kernel), = seam.kernels.items()
            again = decode_kernel(encode_kernel(kernel))
            assert (again.request, again.key.id) == (kernel.request, id)
            assert decode_kernel("{") is None
            assert decode_kernel("{}") is None
            seam.abandon_queued()
            assert seam.restore(id, again)
            seam.compile_queued()
            assert environment.artifact(id) is not None
        seam.uninstall()
        """,
        before=SEAM,
    )


def test_an_older_cupy_is_one_clear_error(on_null_device: Script) -> None:
    on_null_device(
        """
        import cupy.cuda.compiler as compiler
        from gpurt_core.adapters.cupy.seam import CupySeam
        from gpurt_core.errors import UnsupportedCuPy
        del compiler._kernel_cache_backend
        cupy.__version__ = "14.0.1"
        with pytest.raises(UnsupportedCuPy, match=r"CuPy 14.0.1 is not supported.*14.1 or newer"):
            CupySeam(None).install(compiler)
        """
    )


def test_reads_are_seen_on_any_device_whatever_method_reads(on_null_device: Script) -> None:
    on_null_device(
        """
        from gpurt_core.adapters.cupy.device_reads import DeviceReads
        reads = DeviceReads()
        reads.install()
        x = cupy.zeros((), "float32")
        seen = []
        for read in (x.get, x.item, x.tolist, lambda: bool(x), lambda: float(x), lambda: str(x),
                     lambda: cupy.asnumpy(x), lambda: int(x)):
            before = reads.monitor.count
            read()
            seen.append(reads.monitor.count > before)
        assert all(seen), seen
        reads.uninstall()
        before = reads.monitor.count
        x.get()
        assert reads.monitor.count == before
        """
    )
