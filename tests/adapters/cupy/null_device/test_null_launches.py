"""Launches: dropped, after CUDA's own look at their shape."""

from __future__ import annotations

from collections.abc import Callable

from tests.adapters.cupy.null_device.cuda_images import IMAGES

Script = Callable[..., str]

FUNCTIONS = (
    IMAGES
    + """
module = driver.moduleLoadData(compiled("sm_80"))
plain = driver.moduleGetFunction(module, "plain")
bounded = driver.moduleGetFunction(module, "bounded")
"""
)

TOO_LARGE = """
REFUSED = [
    ((1,), (1025,), 0, "INVALID_VALUE"),
    ((1,), (32, 33), 0, "INVALID_VALUE"),
    ((1,), (1, 1, 65), 0, "INVALID_VALUE"),
    ((2**31,), (1,), 0, "INVALID_VALUE"),
    ((1, 65536), (1,), 0, "INVALID_VALUE"),
    ((1, 1, 65536), (1,), 0, "INVALID_VALUE"),
    ((1,), (1,), 48 * 1024 + 1, "INVALID_VALUE"),
    ((1,), (1,), 2**31, "INVALID_VALUE"),
]
ALLOWED = [
    ((1,), (1,), 0),
    ((2**31 - 1, 65535, 65535), (1024,), 0),
    ((1,), (16, 1, 64), 48 * 1024),
    ((), (0,), 0),
    ((-1, 0), (1,), 0),  # CuPy makes 1 of these
    ((1, 1, 1, 70000), (1,), 0),  # and looks at three
]
"""


def test_a_launch_that_cuda_refuses_is_refused(on_null_device: Script) -> None:
    on_null_device(
        """
        for grid, block, shared, error in REFUSED:
            with pytest.raises(driver.CUDADriverError, match=f"CUDA_ERROR_{error}: "):
                device.check_launch(plain, grid, block, shared)
        for grid, block, shared in ALLOWED:
            device.check_launch(plain, grid, block, shared)
        with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"):
            device.check_launch(bounded, (1,), (512,), 0)
        device.check_launch(bounded, (1,), (256,), 48 * 1024 - 2048)
        with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_INVALID_VALUE"):
            device.check_launch(bounded, (1,), (256,), 48 * 1024)
        driver.funcSetAttribute(bounded, 8, 100000)
        device.check_launch(bounded, (1,), (256,), 100000)
        for handle in (0, 1, plain + 1, module):
            with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_INVALID_HANDLE"):
                device.check_launch(handle, (1,), (1,), 0)
        """,
        before=FUNCTIONS + TOO_LARGE,
    )


def test_a_launch_from_python_is_looked_at_as_a_whole(on_null_device: Script) -> None:
    on_null_device(
        """
        stream = cupy.cuda.Stream()
        def launch(grid, block, shared=0, on=stream.ptr):
            driver.launchKernel(plain, *grid, *block, shared, on, 0, 0)
            driver.launchCooperativeKernel(plain, *grid, *block, shared, on, 0)
        launch((1, 1, 1), (1024, 1, 1))
        for grid, block in [((0, 1, 1), (1, 1, 1)), ((1, 1, 1), (1, 0, 1)), ((1,) * 3, (33,) * 3)]:
            with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_INVALID_VALUE"):
                launch(grid, block)
        with pytest.raises(runtime.CUDARuntimeError, match="InvalidResourceHandle"):
            launch((1, 1, 1), (1, 1, 1), on=12345)
        """,
        before=FUNCTIONS,
    )


def test_a_launch_leaves_arrays_as_they_were_and_checks_its_arguments(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        array = cupy.asarray(numpy.arange(512, dtype="float32"))
        kernel = cupy.RawModule(code=SOURCE).get_function("bounded")
        kernel((1,), (256,), (array,))
        assert (array.get() == numpy.arange(512)).all()
        assert (array + 1).shape == (512,)
        with pytest.raises(TypeError):
            kernel((1,), (256,), (object(),))
        with pytest.raises(ValueError, match="broadcast"):
            cupy.ones(3) + cupy.ones(4)
        assert device.reads.count == 1
        """,
        before=IMAGES,
    )


def test_launches_from_many_threads_do_not_disturb_each_other(on_null_device: Script) -> None:
    on_null_device(
        """
        import sys
        from concurrent.futures import ThreadPoolExecutor
        x, y = cupy.ones(10), cupy.ones(10)
        x + y
        before = sys.getrefcount(None)
        def work(_):
            with cupy.cuda.Stream():
                return sum((x + y).size for _ in range(500))
        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(work, range(16))) == 16 * 500 * 10
        assert abs(sys.getrefcount(None) - before) < 1000  # of 8000 launches
        """
    )
