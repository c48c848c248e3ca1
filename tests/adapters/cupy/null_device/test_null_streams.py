"""Streams, events, captures and graphs: in order, at once, and by CUDA's rules."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Script = Callable[..., str]


def test_streams_and_events_behave_as_if_all_were_done(on_null_device: Script) -> None:
    on_null_device(
        """
        stream = cupy.cuda.Stream(non_blocking=True)
        start, end, never = cupy.cuda.Event(), cupy.cuda.Event(), cupy.cuda.Event()
        with stream:
            assert cupy.cuda.get_current_stream() == stream
            start.record()
            cupy.zeros(10)
            end.record()
        stream.wait_event(end)
        end.synchronize()
        stream.synchronize()
        assert stream.done and end.done
        elapsed = cupy.cuda.get_elapsed_time(start, end)
        assert 0 <= elapsed < 60_000
        assert cupy.cuda.get_elapsed_time(end, start) == 0.0
        for a, b in [(start, never), (start, cupy.cuda.Event(disable_timing=True))]:
            with pytest.raises(runtime.CUDARuntimeError, match="InvalidResourceHandle"):
                cupy.cuda.get_elapsed_time(a, b)
        assert runtime.streamGetFlags(stream.ptr) == runtime.streamNonBlocking
        assert cupy.cuda.Stream(priority=-3).priority == -3
        assert cupy.cuda.Stream(priority=-100).priority == -5
        assert runtime.streamQuery(12345) == 400  # InvalidResourceHandle: CuPy does not raise here
        for use in (runtime.streamSynchronize, runtime.streamDestroy):
            with pytest.raises(runtime.CUDARuntimeError, match="InvalidResourceHandle"):
                use(12345)
        """
    )


def test_functions_of_the_host_are_called_where_they_were_launched(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        called = []
        stream = cupy.cuda.Stream(non_blocking=True)
        stream.launch_host_func(called.append, "function")
        stream.add_callback(lambda on, error, data: called.append((on is stream, error, data)), 5)
        assert called == ["function", (True, 0, 5)]

        import sys
        reported = []
        sys.unraisablehook = lambda problem: reported.append(problem.exc_value)
        stream.launch_host_func(lambda _: 1 / 0, None)
        assert [type(error) for error in reported] == [ZeroDivisionError]
        assert stream.done
        """
    )


def test_a_capture_leaves_a_graph_that_can_be_launched(on_null_device: Script) -> None:
    on_null_device(
        """
        called = []
        stream, other = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
        x = cupy.ones(4)
        with stream:
            stream.begin_capture()
            assert stream.is_capturing()
            y = x + 1
            stream.launch_host_func(called.append, 1)
            forked = stream.record()
            other.wait_event(forked)
            assert other.is_capturing()
            with other:
                y = y * 2
            stream.wait_event(other.record())
            graph = stream.end_capture()
        assert not stream.is_capturing() and not other.is_capturing()
        assert called == []
        graph.upload(other)
        graph.launch(other)
        graph.launch()
        assert called == [1, 1]
        reads = device.reads.count
        assert "host function" in graph.debug_dot_str()
        assert device.reads.count == reads + 1  # what it shows of kernels means nothing
        """
    )


def test_what_a_capture_forbids_is_refused_and_ends_it(on_null_device: Script) -> None:
    on_null_device(
        """
        Error = runtime.CUDARuntimeError
        stream, other = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
        with pytest.raises(Error, match="cudaErrorIllegalState"):
            stream.end_capture()

        stream.begin_capture()
        with pytest.raises(Error, match="cudaErrorIllegalState"):
            stream.begin_capture()
        with pytest.raises(Error, match="StreamCaptureUnsupported"):
            stream.synchronize()
        with pytest.raises(RuntimeError, match="being captured"):
            stream.is_capturing()
        with pytest.raises(Error, match="StreamCaptureInvalidated"):
            stream.end_capture()

        stream.begin_capture()  # afresh
        other.wait_event(stream.record())
        with pytest.raises(Error, match="StreamCaptureUnjoined"):
            stream.end_capture()
        assert not other.is_capturing()

        stream.begin_capture()
        other.wait_event(stream.record())
        with pytest.raises(Error, match="StreamCaptureUnmatched"):
            other.end_capture()
        with pytest.raises(Error, match="StreamCaptureInvalidated"):
            stream.end_capture()

        with pytest.raises(Error, match="StreamCaptureUnsupported"):
            runtime.streamBeginCapture(0)
        blocking = cupy.cuda.Stream()
        with blocking:
            blocking.begin_capture()
            with pytest.raises(Error, match="StreamCaptureImplicit"):
                runtime.memset(cupy.zeros(4).data.ptr, 0, 4)  # waits for all others
            blocking.end_capture()
        """
    )


def test_a_stream_that_is_destroyed_takes_its_capture_along(on_null_device: Script) -> None:
    on_null_device(
        """
        stream = cupy.cuda.Stream()
        stream.begin_capture()
        del stream
        runtime.memset(runtime.malloc(4), 0, 4)
        """
    )


@pytest.mark.parametrize("variable", ["0", "1"])
def test_the_default_stream_is_the_one_that_the_variable_chooses(
    on_null_device: Script, variable: str
) -> None:
    environment = {"CUPY_CUDA_PER_THREAD_DEFAULT_STREAM": variable}
    output = on_null_device(
        """
        import threading
        print(cupy.cuda.get_current_stream().ptr)
        threading.Thread(target=lambda: print(cupy.cuda.get_current_stream().ptr)).start()
        x = cupy.ones(3)
        (x + x).get()
        cupy.cuda.Stream.ptds.synchronize()
        """,
        environment=environment,
    )
    assert output == ("0\n0\n" if variable == "0" else "2\n2\n")


def test_a_stream_in_use_stays_in_use_until_its_user_resets_it(on_null_device: Script) -> None:
    on_null_device(
        """
        stream = cupy.cuda.Stream()
        stream.use()
        x = cupy.ones(3)
        (x + 1).get()
        device.free_unused()
        assert cupy.cuda.get_current_stream() == stream
        """
    )
