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
        from gpurt_core.adapters.cupy.null_device import ReadLimitExceeded
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
