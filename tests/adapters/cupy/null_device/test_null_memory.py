"""Memory: reserved and not touched, of a declared size, and as CuPy's pools count it."""

from __future__ import annotations

from collections.abc import Callable

Script = Callable[..., str]


def test_large_arrays_cost_the_process_next_to_nothing(on_null_device: Script) -> None:
    on_null_device(
        """
        import resource
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        large = cupy.ndarray((40 << 30,), "uint8")
        zeros = cupy.zeros((1 << 30,), "float32")
        assert large.nbytes == 40 << 30
        assert zeros.nbytes == 4 << 30
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert after - before < 50 << 10, (before, after)  # KiB
        assert float(zeros[-1]) == 0.0
        """,
        "sm_90",
    )


def test_a_device_has_its_declared_size_and_no_more(on_null_device: Script) -> None:
    on_null_device(
        """
        free, total = runtime.memGetInfo()
        assert free == total == device.profiles[0].memory
        with pytest.raises(cupy.cuda.memory.OutOfMemoryError, match="allocating"):
            cupy.ndarray((total + 1,), "uint8")
        half = cupy.ndarray((total // 2 + 512,), "uint8")
        with pytest.raises(cupy.cuda.memory.OutOfMemoryError):
            cupy.ndarray((total // 2 + 512,), "uint8")
        del half
        cupy.get_default_memory_pool().free_all_blocks()
        assert runtime.memGetInfo()[0] == total
        """
    )


def test_pools_count_as_on_a_gpu(on_null_device: Script) -> None:
    on_null_device(
        """
        pool = cupy.get_default_memory_pool()
        assert pool.used_bytes() == 0
        array = cupy.ndarray((10,), "uint8")
        assert pool.used_bytes() == 512
        del array
        assert pool.used_bytes() == 0
        assert pool.total_bytes() == 512
        pool.free_all_blocks()
        assert pool.total_bytes() == 0
        """
    )


def test_what_is_copied_to_the_device_comes_back_and_each_read_counts(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        values = numpy.arange(1000, dtype="float32")
        array = cupy.asarray(values)
        assert device.reads.count == 0
        assert (array.get() == values).all()
        assert device.reads.count == 1
        assert float(array[3]) == 3.0
        assert device.reads.count == 2
        with device.reads.overlooking():
            array.get()
        assert device.reads.count == 2
        """
    )


def test_a_loop_that_reads_for_ever_is_ended_also_where_it_catches_exceptions(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        from gpurt_core.execution import ReadLimitExceeded
        array = cupy.zeros(1)
        device.reads.begin(100)
        with pytest.raises(ReadLimitExceeded, match="101 times"):
            while True:
                try:
                    if float(array[0]) > 0:
                        break
                except Exception:
                    pass
        """
    )


def test_allocators_may_be_replaced_and_restored(on_null_device: Script) -> None:
    on_null_device(
        """
        from cupy.cuda import memory
        asked = []
        def allocate(size):
            asked.append(size)
            return memory.MemoryPointer(memory.Memory(size), 0)
        cupy.cuda.set_allocator(allocate)
        cupy.ndarray((100,), "float32")
        with cupy.cuda.using_allocator(memory.malloc_managed):
            managed = cupy.ndarray((4,), "int32")
        assert runtime.pointerGetAttributes(managed.data.ptr).type == runtime.memoryTypeManaged
        with cupy.cuda.using_allocator(memory.malloc_async):
            assert cupy.ndarray((4,), "int32").nbytes == 16
        cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)
        cupy.ndarray((100,), "float32")
        assert asked == [400]
        """
    )


def test_pointers_know_whose_memory_they_are_in(on_null_device: Script) -> None:
    on_null_device(
        """
        array, pinned = cupy.ndarray((100,), "uint8"), cupy.cuda.alloc_pinned_memory(100)
        host = numpy.zeros(4096, "uint8")
        describe = runtime.pointerGetAttributes
        inside = describe(array.data.ptr + 99)
        assert (inside.type, inside.device, inside.devicePointer) == (2, 0, array.data.ptr + 99)
        assert describe(pinned.ptr + 5).type == runtime.memoryTypeHost
        assert describe(host.ctypes.data).type == runtime.memoryTypeUnregistered
        assert describe(host.ctypes.data).device == -2
        runtime.hostRegister(host.ctypes.data, 4096, 0)
        assert describe(host.ctypes.data + 4095).type == runtime.memoryTypeHost
        with pytest.raises(runtime.CUDARuntimeError, match="HostMemoryAlreadyRegistered"):
            runtime.hostRegister(host.ctypes.data, 4096, 0)
        runtime.hostUnregister(host.ctypes.data)
        with pytest.raises(runtime.CUDARuntimeError, match="HostMemoryNotRegistered"):
            runtime.hostUnregister(host.ctypes.data)
        address = array.data.mem.ptr
        del array
        cupy.get_default_memory_pool().free_all_blocks()
        assert describe(address).type == runtime.memoryTypeUnregistered
        """
    )


def test_what_was_not_allocated_cannot_be_freed(on_null_device: Script) -> None:
    on_null_device(
        """
        address, pinned = runtime.malloc(64), runtime.hostAlloc(64, 0)
        assert runtime.malloc(0) == 0
        runtime.free(0)
        for free, wrong in [
            (runtime.free, 17), (runtime.free, address + 1), (runtime.free, pinned),
            (runtime.freeHost, address), (runtime.freeHost, pinned + 8),
            (lambda p: runtime.freeAsync(p, 0), 0),
        ]:
            with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidValue"):
                free(wrong)
        runtime.free(address)
        runtime.freeHost(pinned)
        for free, gone in [(runtime.free, address), (runtime.freeHost, pinned)]:
            with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidValue"):
                free(gone)
        """
    )


def test_pools_of_cuda_account_for_what_is_allocated_from_them(on_null_device: Script) -> None:
    on_null_device(
        """
        from cupy.cuda import memory
        pool = memory.MemoryAsyncPool()
        before = pool.used_bytes()
        with cupy.cuda.Stream() as stream:
            piece = pool.malloc(1000)
            assert pool.used_bytes() == before + 1024  # CuPy asks for whole 512s
            assert pool.total_bytes() >= 32 << 20
            del piece
        assert pool.used_bytes() == before
        pool.free_all_blocks()
        assert pool.total_bytes() == 0
        default = runtime.deviceGetDefaultMemPool(0)
        assert runtime.deviceGetMemPool(0) == default
        with pytest.raises(runtime.CUDARuntimeError, match="InvalidValue"):
            runtime.memPoolDestroy(default)
        with pytest.raises(runtime.CUDARuntimeError, match="InvalidResourceHandle"):
            runtime.mallocAsync(64, 12345)
        """
    )


def test_managed_memory_takes_advice_that_suits_it(on_null_device: Script) -> None:
    on_null_device(
        """
        managed, plain = runtime.mallocManaged(4096), runtime.malloc(4096)
        runtime.memAdvise(managed, 4096, runtime.cudaMemAdviseSetReadMostly, 0)
        runtime.memPrefetchAsync(managed, 4096, 0, 0)
        runtime.memPrefetchAsync(managed, 4096, -1, 0)
        for call in (
            lambda: runtime.memAdvise(plain, 4096, 1, 0),
            lambda: runtime.memAdvise(managed, 4096, 99, 0),
            lambda: runtime.memPrefetchAsync(managed, 4097, 0, 0),
        ):
            with pytest.raises(runtime.CUDARuntimeError, match="InvalidValue"):
                call()
        with pytest.raises(runtime.CUDARuntimeError, match="InvalidDevice"):
            runtime.memPrefetchAsync(managed, 4096, 3, 0)
        """
    )


def test_what_the_host_has_left_bounds_what_is_really_written(on_null_device: Script) -> None:
    """A fill of all of a device's memory ends soon, and leaves the host what it needs."""
    on_null_device(
        """
        import resource
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        size = 60 << 30
        address, other = runtime.malloc(size), runtime.malloc(10 << 30)
        runtime.memset(address, 1, size)
        runtime.memcpy(other, address, 10 << 30, runtime.memcpyDeviceToDevice)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert after - before < 700 << 10, (before, after)  # KiB
        head = numpy.zeros(100, "uint8")
        runtime.memcpy(head.ctypes.data, other, 100, runtime.memcpyDeviceToHost)
        assert (head == 1).all()
        """
    )


def test_a_read_that_the_host_would_suffer_from_is_refused_while_reads_are_limited(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        from gpurt_core.execution import host_memory
        from gpurt_core.execution import ReadTooLarge
        large = cupy.ndarray((host_memory()[1] // 8 + 1024,), "uint8")
        device.reads.begin(100)
        with pytest.raises(ReadTooLarge, match="read back at once"):
            large.get()
        assert large[:10].get().sum() == 0
        """,
        "sm_100",
    )
