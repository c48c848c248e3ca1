"""Several devices in one process."""

from __future__ import annotations

from collections.abc import Callable

Script = Callable[..., str]


def test_a_device_that_there_is_not_raises_what_cuda_raises(on_null_device: Script) -> None:
    on_null_device(
        """
        Error = runtime.CUDARuntimeError
        for number in (1, 7, -2):
            with pytest.raises(Error, match="cudaErrorInvalidDevice"):
                runtime.setDevice(number)
        with pytest.raises(Error, match="cudaErrorInvalidDevice"):
            cupy.cuda.Device(7).use()
        with pytest.raises(Error, match="cudaErrorInvalidDevice"):
            with cupy.cuda.Device(1):
                pass
        with pytest.raises(Error, match="cudaErrorInvalidDevice"):
            cupy.cuda.Device(7).compute_capability
        assert runtime.getDevice() == 0
        """
    )


def test_each_device_has_its_memory_its_architecture_and_its_kernels(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        assert runtime.getDeviceCount() == 2
        arrays = []
        source = 'extern "C" __global__ void f(float* x) { x[0] = 1; }'
        kernel = cupy.RawKernel(source, "f")
        for number in (0, 1, 0):
            with cupy.cuda.Device(number):
                arrays.append(cupy.ones(1000))
                assert arrays[-1].device.id == number
                assert runtime.pointerGetAttributes(arrays[-1].data.ptr).device == number
                kernel((1,), (1,), (arrays[-1],))
                assert kernel.binary_version == (80, 90)[number]
        assert runtime.getDevice() == 0
        assert cupy.cuda.Device(1).compute_capability == "90"
        used = [cupy.cuda.Device(n).mem_info for n in (0, 1)]
        assert [total for _, total in used] == [profile.memory for profile in device.profiles]
        assert all(free < total for free, total in used)
        on_other = cupy.cuda.Stream
        with cupy.cuda.Device(1):
            stream = cupy.cuda.Stream()
            with stream:
                assert cupy.zeros(3).device.id == 1
        """,
        "sm_80",
        "sm_90",
    )


def test_arrays_travel_between_devices(on_null_device: Script) -> None:
    on_null_device(
        """
        values = numpy.arange(1000, dtype="int64")
        first = cupy.asarray(values)
        with cupy.cuda.Device(1):
            second = cupy.asarray(first)
            assert second.device.id == 1
        assert (second.get() == values).all()
        third = cupy.ndarray((1000,), "int64")
        third.data.copy_from_device(second.data, 8000)
        assert (third.get() == values).all()
        assert runtime.deviceCanAccessPeer(0, 1) == 1
        assert runtime.deviceCanAccessPeer(0, 0) == 0
        with pytest.raises(runtime.CUDARuntimeError, match="PeerAccessAlreadyEnabled"):
            runtime.deviceEnablePeerAccess(1)  # CuPy did, to copy
        runtime.deviceDisablePeerAccess(1)
        with pytest.raises(runtime.CUDARuntimeError, match="PeerAccessNotEnabled"):
            runtime.deviceDisablePeerAccess(1)
        with pytest.raises(runtime.CUDARuntimeError, match="InvalidDevice"):
            runtime.deviceEnablePeerAccess(0)
        """,
        "sm_80",
        "sm_80",
    )


def test_the_current_device_is_the_threads_own_and_comes_back(on_null_device: Script) -> None:
    on_null_device(
        """
        import threading
        from concurrent.futures import ThreadPoolExecutor
        runtime.setDevice(1)
        seen, barrier = [], threading.Barrier(3)
        def work(number):
            seen.append(runtime.getDevice())  # a new thread begins with device 0
            with cupy.cuda.Device(number):
                barrier.wait(30)
                with cupy.cuda.Device(2):
                    pass
                return cupy.zeros(3).device.id == number == runtime.getDevice()
        with ThreadPoolExecutor(3) as threads:
            assert all(threads.map(work, range(3)))
        assert seen == [0, 0, 0]
        assert runtime.getDevice() == cupy.zeros(3).device.id == 1
        with pytest.raises(LookupError):
            with cupy.cuda.Device(2):
                raise LookupError
        assert runtime.getDevice() == 1
        """,
        *["sm_80"] * 3,
    )


def test_compiled_code_of_cupy_sees_the_device_that_was_set_from_python(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        for number in (1, 0, 1):
            runtime.setDevice(number)
            assert cupy.cuda.Device().id == runtime.getDevice() == driver.ctxGetDevice() == number
            assert cupy.cuda.device.get_device_id() == number
            assert cupy.ndarray((3,)).device.id == number
        own = driver.ctxCreate(0)
        assert driver.ctxGetCurrent() == own and cupy.cuda.Device().id == 0
        runtime.setDevice(1)
        assert driver.ctxGetCurrent() not in (0, own)
        driver.ctxDestroy(own)
        with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_INVALID_CONTEXT"):
            driver.ctxSetCurrent(own)
        """,
        "sm_80",
        "sm_80",
    )


def test_limits_of_a_device_can_be_set_and_what_has_none_is_refused(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        stack = runtime.cudaLimitStackSize
        runtime.deviceSetLimit(stack, 4096)
        assert runtime.deviceGetLimit(stack) == 4096
        with cupy.cuda.Device(1):
            assert runtime.deviceGetLimit(stack) == 1024
        with pytest.raises(runtime.CUDARuntimeError, match="UnsupportedLimit"):
            runtime.deviceGetLimit(99)
        with pytest.raises(runtime.CUDARuntimeError, match="InvalidValue"):
            runtime.deviceGetAttribute(9999, 0)
        with pytest.raises(runtime.CUDARuntimeError, match="NotSupported"):
            runtime.ipcGetMemHandle(cupy.zeros(3).data.ptr)
        """,
        "sm_80",
        "sm_80",
    )
