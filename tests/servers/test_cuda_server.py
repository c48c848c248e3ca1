"""The CUDA backend without a GPU: real compiling on the null device, where launches do nothing."""

from __future__ import annotations

from tests.servers.fresh_python import run_python

ON_NULL_DEVICE = """
    from gpurt_core.adapters.cupy.null_device import NullDevice, profile_for
    NullDevice.install([profile_for("sm_80"), profile_for("sm_90")])
    import numpy, pytest
    from gpurt_core.execution import *
    from gpurt_core.servers import *

    SOURCE = 'extern "C" __global__ void add(float* x, float a) { x[threadIdx.x] += a; }'
    ADD = Kernel("add", cuda=SOURCE)

    class Store:
        def __init__(self): self.kept = {}
        def artifact(self, id): return self.kept.get(id)
        def store(self, id, artifact, *, source=None, label=""):
            self.kept[id] = artifact
            return True
"""


def on_null_device(script: str) -> str:
    return run_python(ON_NULL_DEVICE + script)


def test_kernels_compile_load_and_are_kept() -> None:
    on_null_device(
        """
    store, collector = Store(), StatisticsCollector()
    with ProcessModeOverride(ProcessMode.EXECUTE, collector):
        with connect("cuda:0", environment=store) as server:
            x = server.array(numpy.ones(4, numpy.float32))
            server.launch(ADD, 1, 4, [x, numpy.float32(2)])
            server.profile(lambda: server.launch(ADD, (1, 2), (4, 1), [x, numpy.float32(2)]))
            assert x.get().tolist() == [1.0] * 4, "launches do nothing here"
        with connect("cuda:0", environment=store) as server:
            server.launch(ADD, 1, 4, [server.empty(4, numpy.float32), numpy.float32(2)])
            server.synchronize()
    expected = CompilationStatistics(registered=2, compiled=1, loaded=1, stored=1)
    assert collector.statistics().compilation == expected, collector.statistics()
    """
    )


def test_without_an_address_cuda_comes_first_and_each_device_has_its_architecture() -> None:
    on_null_device(
        """
    with connect() as server:
        assert server.name == "cuda:0"
        assert "sm_80" in server.fingerprint and "NVRTC" in server.fingerprint
    with connect("cuda:1") as server:
        assert "sm_90" in server.fingerprint
    with pytest.raises(NoDevice, match="no device cuda:2: the last CUDA device is cuda:1"):
        connect("cuda:2")
    with pytest.raises(NoDevice, match="CUDA devices are not divided: connect cuda:0"):
        connect("cuda:0.1")
    """
    )


def test_failures_name_the_launch() -> None:
    on_null_device(
        """
    with connect("cuda:0") as server:
        x = server.array(numpy.ones(4, numpy.float32))
        server.launch(Kernel("bad", cuda='extern "C" __global__ void bad() { what }'), 1, 1, [])
        with pytest.raises(LaunchFailed, match="'bad' .grid 1x1x1.*bad does not compile") as caught:
            server.synchronize()
        assert caught.value.refused and "what" in caught.value.cause.log
        server.launch(Kernel("sub", cuda=SOURCE), 1, 1, [x, numpy.float32(1)])
        with pytest.raises(LaunchFailed, match='no function of this name: declare it extern "C"'):
            server.synchronize()
        server.launch(ADD, 1, 2048, [x, numpy.float32(1)])
        with pytest.raises(LaunchFailed, match="2048x1x1 is too large: the most are 1024 threads"):
            x.get()
    """
    )


def test_a_raw_module_of_the_same_source_has_the_same_id() -> None:
    on_null_device(
        """
    from gpurt_core.adapters.cupy.seam import CupySeam
    import cupy
    store = Store()
    with connect("cuda:0", environment=store) as server:
        server.launch(ADD, 1, 4, [server.empty(4, numpy.float32), numpy.float32(2)])
        server.synchronize()
    before = set(store.kept)
    seam = CupySeam(store)
    seam.install(cupy.cuda.compiler)
    cupy.RawModule(code=SOURCE).get_function("add")
    assert set(store.kept) == before, "it was found, not compiled"
    seam.uninstall()
    """
    )


def test_gathering_needs_no_launch() -> None:
    on_null_device(
        """
    store, collector = Store(), StatisticsCollector()
    with ProcessModeOverride(ProcessMode.COMPILE_ONLY, collector):
        with connect("cuda:0", environment=store) as server:
            x = server.empty(4, numpy.float32)
            for n in range(3):
                text = SOURCE.replace("+= a", f"+= a * {n}")
                server.launch(Kernel("add", cuda=text), 1, 4, [x, numpy.float32(2)])
            server.compile_queued()
    expected = CompilationStatistics(registered=3, compiled=3, stored=3)
    assert collector.statistics().compilation == expected, collector.statistics()
    """
    )


def test_without_a_driver_the_reason_says_so() -> None:
    output = run_python(
        """
        from gpurt_core.servers import NoDevice, connect
        try:
            connect("cuda:0").close()
            print("there is a device")
        except NoDevice as error:
            print(error)
        """,
        {"CUDA_VISIBLE_DEVICES": ""},
    )
    assert "no device cuda:0: CUDA says cudaError" in output
