"""What goes wrong on a device, injected into one that is the host."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path

import numpy
import pytest

from gpurt_core.servers import LaunchFailed, Server, ServerClosed, connect
from tests.servers.conftest import ADD, DOUBLE, Store
from tests.servers.numpy_backend import Faults

ROOT = Path(__file__).parents[2]


def test_a_launch_that_fails_while_it_runs_is_told_from_one_that_was_refused(
    numpy_server: Server, faults: Faults
) -> None:
    x = numpy_server.array(numpy.ones(4, numpy.float32))
    faults.failing.add("twice")
    numpy_server.launch(DOUBLE, 1, 4, [x])
    with pytest.raises(
        LaunchFailed, match=r"'twice'.* failed on numpy:0: RuntimeError: broke"
    ) as e:
        numpy_server.synchronize()
    assert not e.value.refused
    faults.failing.clear()
    faults.refused.add("twice")
    numpy_server.launch(DOUBLE, 1, 4, [x])
    with pytest.raises(LaunchFailed, match=r"'twice'.* was refused on numpy:0: invalid") as e:
        x.get()
    assert e.value.refused


def test_a_failed_launch_does_not_keep_the_next_from_running(
    numpy_server: Server, faults: Faults
) -> None:
    x = numpy_server.array(numpy.ones(4, numpy.float32))
    faults.failing.add("add")
    numpy_server.launch(ADD, 1, 4, [x, numpy.float32(1), numpy.int32(4)])
    numpy_server.launch(DOUBLE, 1, 4, [x])
    with pytest.raises(LaunchFailed, match="'add'"):
        numpy_server.synchronize()
    assert x.get().tolist() == [2.0] * 4


def test_an_error_of_a_stream_is_laid_to_the_last_launch_on_it(
    numpy_server: Server, faults: Faults
) -> None:
    x = numpy_server.array(numpy.ones(4, numpy.float32))
    numpy_server.launch(ADD, 1, 4, [x, numpy.float32(1), numpy.int32(4)])
    numpy_server.launch(DOUBLE, 1, 4, [x])

    def lost() -> None:
        faults.on_wait = lambda: None
        raise RuntimeError("the device is lost")

    faults.on_wait = lost
    with pytest.raises(LaunchFailed, match=r"'twice'.*the device is lost") as caught:
        numpy_server.synchronize()
    assert caught.value.cause.__notes__ == ["the last of 2 launches that were not waited for"]


def test_an_error_of_a_stream_without_launches_is_raised_as_it_is(
    numpy_server: Server, faults: Faults
) -> None:
    numpy_server.array(numpy.ones(4))

    def lost() -> None:
        raise OSError("the device is lost")

    faults.on_wait = lost
    with pytest.raises(OSError, match="the device is lost"):
        numpy_server.synchronize()
    faults.on_wait = lambda: None


def test_a_long_row_of_launches_does_not_hold_all_arrays(
    numpy_server: Server, faults: Faults
) -> None:
    waits: list[int] = []
    x = numpy_server.array(numpy.zeros(1, numpy.float32))
    faults.on_wait = lambda: waits.append(1)
    for _ in range(2000):
        numpy_server.launch(DOUBLE, 1, 1, [x])
    numpy_server.profile(lambda: None)
    assert 3 <= len(waits) <= 6


def test_launching_does_not_wait_for_the_device(numpy_server: Server, faults: Faults) -> None:
    running, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        running.set()
        assert go_on.wait(30)

    faults.on_run = hold
    x = numpy_server.array(numpy.ones(1, numpy.float32))
    numpy_server.launch(DOUBLE, 1, 1, [x])
    numpy_server.launch(DOUBLE, 1, 1, [x])
    assert running.wait(30)
    go_on.set()
    assert x.get().tolist() == [4.0]


def test_all_of_a_server_is_done_on_one_thread(numpy_server: Server, faults: Faults) -> None:
    threads: set[int] = set()
    faults.on_run = lambda: threads.add(threading.get_ident())
    faults.on_wait = lambda: threads.add(threading.get_ident())
    x = numpy_server.array(numpy.ones(1, numpy.float32))
    issuing = [
        threading.Thread(target=numpy_server.launch, args=(DOUBLE, 1, 1, [x])) for _ in range(4)
    ]
    for thread in issuing:
        thread.start()
    for thread in issuing:
        thread.join()
    x.get()
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_what_the_server_tells_on_its_thread_may_use_it(store: Store, faults: Faults) -> None:
    fingerprints: list[str] = []

    def settled(event: object) -> None:
        server.synchronize()
        fingerprints.append(server.fingerprint)

    with connect("numpy:0", environment=store, on_settled=settled) as server:
        x = server.array(numpy.ones(1, numpy.float32))
        server.launch(DOUBLE, 1, 1, [x])
        assert x.get().tolist() == [2.0]
        assert fingerprints == [server.fingerprint]


def test_a_server_that_is_dropped_finishes_and_warns(faults: Faults) -> None:
    faults.failing.add("twice")
    server = connect("numpy:0")
    thread = server._thread  # type: ignore[attr-defined]
    x = server.array(numpy.ones(1, numpy.float32))
    server.launch(DOUBLE, 1, 1, [x])
    server.profile(lambda: None)  # waits, and reports what is launched within alone
    worker = thread._thread
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        del server, x
        gc.collect()
        worker.join(30)
    assert not worker.is_alive()
    assert ["nobody saw" in str(warning.message) for warning in told] == [True]


def test_a_server_belongs_to_its_process(numpy_server: Server) -> None:
    x = numpy_server.array(numpy.ones(1, numpy.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python 3.12: there are threads
        child = os.fork()
    if not child:
        try:
            numpy_server.launch(DOUBLE, 1, 1, [x])
        except ServerClosed as error:
            os._exit(0 if "not to its fork" in str(error) else 2)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_child_of_a_fork_connects_a_server_of_its_own(numpy_server: Server) -> None:
    numpy_server.synchronize()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if not child:
        code = 1
        try:
            with connect("numpy:0") as server:
                x = server.array(numpy.ones(1, numpy.float32))
                server.launch(DOUBLE, 1, 1, [x])
                code = 0 if x.get().tolist() == [2.0] else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + 30
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert done[0] == child
    assert os.waitstatus_to_exitcode(done[1]) == 0


def test_what_was_launched_is_done_before_the_interpreter_ends(tmp_path: Path) -> None:
    script = """
        import numpy
        from gpurt_core.servers import connect, register
        from tests.servers.conftest import PythonKernel
        from tests.servers.numpy_backend import NumpyPlugin
        register(NumpyPlugin())
        server = connect("numpy:0")
        x = server.array(numpy.ones(1))
        text = "import time\\ndef say(threads, x): time.sleep(0.2); print('done', flush=True)"
        server.launch(PythonKernel("say", python=text), 1, 1, [x])
        server.launch(PythonKernel("gone", python=text), 1, 1, [x])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "done\n"
    assert "closed with failures that nobody saw" in done.stderr
    assert "there is no function gone" in done.stderr
