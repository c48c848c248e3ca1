"""Processes and threads that come from one with a null device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gpurt_core.adapters.cupy.early import startup_environment
from gpurt_core.adapters.cupy.null_device import profile_for

Script = Callable[..., str]


def test_a_forked_child_goes_on_with_what_its_parent_had(on_null_device: Script) -> None:
    output = on_null_device(
        """
        import os, sys, traceback, warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # libraries of numpy have threads
        array = cupy.asarray([1, 2, 3])
        kernel = cupy.RawKernel('extern "C" __global__ void f(long long* x) {}', "f")
        kernel((1,), (1,), (array,))
        sys.stdout.flush()
        children = []
        for number in range(3):
            child = os.fork()
            if child == 0:
                try:
                    assert array.get().tolist() == [1, 2, 3]
                    array.set(numpy.asarray([number] * 3))
                    kernel((1,), (1,), (array,))
                    other = cupy.RawKernel('extern "C" __global__ void g() {}', "g")
                    other((1,), (1,), ())
                    with cupy.cuda.Device(1), cupy.cuda.Stream():
                        assert cupy.zeros(10).device.id == 1
                    assert array.get().tolist() == [number] * 3
                    assert device.reads.count == 2
                    os._exit(0)
                except BaseException:
                    traceback.print_exc()
                    os._exit(1)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
        assert array.get().tolist() == [1, 2, 3]  # a child has a copy of it
        print("done")
        """,
        "sm_80",
        "sm_80",
    )
    assert output == "done\n"


def test_processes_of_every_start_method_compute_on_it(run_python: Script, tmp_path: Path) -> None:
    (tmp_path / "work_of_a_child.py").write_text(
        "import cupy\n"
        "def work(number):\n"
        "    x = cupy.zeros(number)\n"
        "    return (x + 1).size, cupy.cuda.Device().compute_capability\n"
    )
    environment = startup_environment([profile_for("sm_90")], {"PYTHONPATH": str(tmp_path)})
    output = run_python(
        """
        import multiprocessing, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        from work_of_a_child import work
        for method in ("fork", "spawn", "forkserver"):
            with multiprocessing.get_context(method).Pool(2) as pool:
                print(pool.map(work, [3, 4]))
        """,
        environment,
    )
    assert output == "[(3, '90'), (4, '90')]\n" * 3


def test_exceptions_reach_the_thread_that_they_belong_to(on_null_device: Script) -> None:
    on_null_device(
        """
        from concurrent.futures import ThreadPoolExecutor
        array = cupy.zeros(100)
        def work(number):
            wrong = 0
            for _ in range(50):
                try:
                    if number % 2:
                        cupy.ndarray((1 << 45,), "uint8")
                    else:
                        array.data.copy_to_host(0, 8)
                    wrong += 1
                except cupy.cuda.memory.OutOfMemoryError:
                    wrong += number % 2 == 0
                except runtime.CUDARuntimeError as error:
                    wrong += number % 2 == 1 or error.status != 1
            return wrong
        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(work, range(8))) == 0
        """
    )


def test_what_cannot_be_freed_does_not_poison_what_comes_after(on_null_device: Script) -> None:
    """An exception in a destructor is reported by CuPy, and is not left for the next call."""
    on_null_device(
        """
        import contextlib, io
        from cupy.cuda import memory
        mine = memory.Memory(64)
        runtime.free(mine.ptr)
        with contextlib.redirect_stderr(io.StringIO()) as reported:
            del mine  # frees it again
        assert "cudaErrorInvalidValue" in reported.getvalue()
        assert cupy.zeros(3).get().tolist() == [0, 0, 0]
        """
    )


def test_a_fork_among_busy_threads_leaves_the_child_no_lock_that_is_taken(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        import os, signal, threading, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        pool, done = runtime.deviceGetDefaultMemPool(0), threading.Event()
        host = numpy.zeros(8, "uint8")
        def work():
            address = runtime.mallocAsync(4096, 0)
            runtime.memcpy(host.ctypes.data, address, 8, runtime.memcpyDeviceToHost)
            runtime.memPoolTrimTo(pool, 0)
            runtime.freeAsync(address, 0)
        def busy():
            while not done.is_set():
                work()
        threads = [threading.Thread(target=busy) for _ in range(3)]
        [thread.start() for thread in threads]
        results = []
        for _ in range(30):
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # ends a child that waits for ever
                work()
                os._exit(0)
            results.append(os.waitpid(child, 0)[1])
        done.set()
        [thread.join() for thread in threads]
        assert results == [0] * 30
        """
    )
