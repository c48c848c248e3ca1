"""Copies are real; each look of the host at a device is counted."""

from __future__ import annotations

from collections.abc import Callable

Script = Callable[..., str]


def test_each_way_to_look_at_a_device_is_one_read(on_null_device: Script) -> None:
    on_null_device(
        """
        array, host = cupy.asarray(numpy.arange(6, dtype="int32")), numpy.zeros(6, "int32")
        pinned = cupy.cuda.alloc_pinned_memory(24)
        source, target = array.data.ptr, host.ctypes.data
        reads = [
            lambda: array.get(), lambda: cupy.asnumpy(array), lambda: array[2].item(),
            lambda: int(array[1]), lambda: bool(array[1]), lambda: float(array[1]),
            lambda: array.tolist(), lambda: str(array), lambda: array.get(out=host),
            lambda: runtime.memcpy(target, source, 24, runtime.memcpyDeviceToHost),
            lambda: runtime.memcpyAsync(target, source, 24, runtime.memcpyDeviceToHost, 0),
            lambda: runtime.memcpy(target, source, 24, runtime.memcpyDefault),
            lambda: runtime.memcpy(pinned.ptr, source, 24, runtime.memcpyDefault),
            lambda: runtime.memcpy2D(target, 12, source, 12, 12, 2, runtime.memcpyDeviceToHost),
            lambda: array.data.copy_to_host(target, 24),
        ]
        for number, read in enumerate(reads):
            before = device.reads.count
            read()
            assert device.reads.count == before + 1, number
        others = [
            lambda: array.copy(), lambda: cupy.asarray(host), lambda: array.set(host),
            lambda: runtime.memcpy(source, target, 24, runtime.memcpyDefault),
            lambda: runtime.memcpy(target, pinned.ptr, 24, runtime.memcpyDefault),
            lambda: runtime.memset(source, 0, 24), lambda: array.reshape(2, 3).T.shape,
            lambda: cupy.zeros(3), lambda: array.data.copy_from_device(array.data, 8),
            lambda: runtime.memcpy(target, source, 0, runtime.memcpyDeviceToHost),
        ]
        before = device.reads.count
        for other in others:
            other()
        assert device.reads.count == before
        """
    )


def test_reads_are_counted_for_their_thread_too(on_null_device: Script) -> None:
    on_null_device(
        """
        import threading
        array, seen = cupy.zeros(3), {}
        def work(number):
            for _ in range(number):
                array.get()
            seen[number] = device.reads.count_for_thread()
        threads = [threading.Thread(target=work, args=(n,)) for n in (1, 5, 9)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert seen == {1: 1, 5: 5, 9: 9}
        assert (device.reads.count, device.reads.count_for_thread()) == (15, 0)
        """
    )


def test_the_limit_of_reads_begins_anew_and_may_be_lifted(on_null_device: Script) -> None:
    on_null_device(
        """
        from gpurt_core.execution import ReadLimitExceeded
        array = cupy.zeros(3)
        for _ in range(3):
            device.reads.begin(2)
            array.get(), array.get()
            with device.reads.overlooking():
                array.get()
            with pytest.raises(ReadLimitExceeded) as caught:
                array.get()
            assert (caught.value.reads, caught.value.limit) == (3, 2)
        device.reads.begin(None)
        for _ in range(100):
            array.get()
        import copy
        assert str(copy.copy(caught.value)) == str(caught.value)
        """
    )


def test_a_copy_that_cuda_refuses_is_refused(on_null_device: Script) -> None:
    on_null_device(
        """
        device_at, host = runtime.malloc(1000), numpy.zeros(1000, "uint8")
        other, at = runtime.malloc(1000), host.ctypes.data
        to_device, to_host, within = 1, 2, 3
        def refused(error, call, *arguments):
            with pytest.raises(runtime.CUDARuntimeError, match=error):
                call(*arguments)
        refused("InvalidValue", runtime.memcpy, device_at, at, 1001, to_device)
        refused("InvalidValue", runtime.memcpy, device_at + 1, at, 1000, to_device)
        refused("InvalidValue", runtime.memcpy, at, device_at, 1001, to_host)
        refused("InvalidValue", runtime.memcpy, at, at, 10, to_device)
        refused("InvalidValue", runtime.memcpy, at, at, 10, to_host)
        refused("InvalidValue", runtime.memcpy, at, device_at, 10, within)
        refused("InvalidValue", runtime.memcpy, 0, device_at, 10, to_host)
        refused("InvalidValue", runtime.memcpy, device_at, 0, 10, to_device)
        refused("InvalidValue", runtime.memset, at, 0, 10)
        refused("InvalidValue", runtime.memset, device_at, 0, 1001)
        refused("InvalidMemcpyDirection", runtime.memcpy, at, device_at, 10, 5)
        refused("InvalidPitchValue", runtime.memcpy2D, at, 9, device_at, 10, 10, 2, to_host)
        refused("InvalidResourceHandle", runtime.memcpyAsync, at, device_at, 10, to_host, 777)
        refused("InvalidDevice", runtime.memcpyPeer, other, 1, device_at, 0, 10)
        refused("InvalidValue", runtime.memcpy2D, at, 600, device_at, 600, 600, 2, to_host)
        runtime.free(other)
        refused("InvalidValue", runtime.memcpy, at, other, 10, to_host)
        assert device.reads.count == 0
        """
    )


def test_bytes_go_where_they_are_sent(on_null_device: Script) -> None:
    on_null_device(
        """
        values = numpy.arange(4096, dtype="uint16")
        array = cupy.asarray(values)
        assert (array[100:200].get() == values[100:200]).all()
        at, size = array.data.ptr, array.nbytes
        runtime.memcpy(at + 2, at, size - 2, runtime.memcpyDeviceToDevice)  # overlapping
        assert (array.get()[1:] == values[:-1]).all()
        runtime.memset(at, 0xFF, 10)
        assert array.get()[:6].tolist() == [65535] * 5 + [4]
        runtime.memset(at, 0, size)
        assert not array.get().any()

        rows = runtime.malloc(1024)  # rows of 24 bytes, 64 apart
        picture = numpy.arange(72, dtype="uint8").reshape(3, 24)
        back = numpy.zeros((3, 24), "uint8")
        runtime.memcpy2D(rows, 64, picture.ctypes.data, 24, 24, 3, runtime.memcpyHostToDevice)
        runtime.memcpy2D(back.ctypes.data, 24, rows, 64, 24, 3, runtime.memcpyDeviceToHost)
        assert (back == picture).all()
        """
    )


def test_memory_is_zero_until_written_and_stale_bytes_do_not_survive_a_copy(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        size = 8 << 20
        fresh, dirty = runtime.malloc(size), runtime.malloc(size)
        host = numpy.full(size, 7, "uint8")
        at = host.ctypes.data
        runtime.memcpy(dirty, at, size, runtime.memcpyHostToDevice)
        runtime.memcpy(dirty, fresh, size, runtime.memcpyDeviceToDevice)
        runtime.memcpy(at, dirty, size, runtime.memcpyDeviceToHost)
        assert not host.any()

        host[:] = 7
        runtime.memcpy(dirty, at, size, runtime.memcpyHostToDevice)
        runtime.memset(fresh + 1000, 3, 10)  # the rest of it was never written
        runtime.memcpy(dirty, fresh, size, runtime.memcpyDeviceToDevice)
        runtime.memcpy(at, dirty, size, runtime.memcpyDeviceToHost)
        assert (host[1000:1010] == 3).all() and host.astype("int64").sum() == 30

        host[:] = 7
        runtime.memcpy(at, runtime.malloc(size), size, runtime.memcpyDeviceToHost)
        assert not host.any()
        """
    )


def test_managed_and_pinned_memory_are_shared_with_the_host(on_null_device: Script) -> None:
    on_null_device(
        """
        import ctypes
        from cupy.cuda import memory
        managed = memory.malloc_managed(16)
        (ctypes.c_int * 4).from_address(managed.ptr)[:] = [1, 2, 3, 4]
        array = cupy.ndarray((4,), "int32", managed)
        assert array.get().tolist() == [1, 2, 3, 4]
        other = cupy.ndarray((4,), "int32")
        other.data.copy_from_device(managed, 16)
        assert other.get().tolist() == [1, 2, 3, 4]
        pinned = cupy.cuda.alloc_pinned_memory(16)
        on_host = numpy.frombuffer(pinned, "int32", 4)
        array.get(out=on_host)
        assert on_host.tolist() == [1, 2, 3, 4]
        """
    )
