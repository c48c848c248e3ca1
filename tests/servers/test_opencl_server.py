"""OpenCL devices: real compiling, loading, refusing and running; PoCL is one on any CPU."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from gpurt_core.environment import Environment
from gpurt_core.errors import LoadRefused
from gpurt_core.execution import CompilationStatistics, ProcessMode
from gpurt_core.servers import Kernel, LaunchFailed, NoDevice, Server, connect
from gpurt_core.servers.opencl.artifact import ClArtifact
from gpurt_core.servers.opencl.devices import find_devices
from tests.servers.conftest import DOUBLE, InMode, Store

WRITTEN_FOR_64 = Kernel(
    "by64",
    opencl="""
    __attribute__((reqd_work_group_size(64, 1, 1)))
    __kernel void by64(__global float *x) { x[get_global_id(0)] += 1; }
    """,
)


def test_a_work_group_of_the_wanted_size_runs_and_others_say_what_is_wanted(
    opencl: Server,
) -> None:
    x = opencl.array(numpy.zeros(8192, numpy.float32))
    opencl.launch(WRITTEN_FOR_64, 128, 64, [x])
    assert x.get().tolist() == [1.0] * 8192
    for block in (32, 8192, (8, 8)):
        opencl.launch(WRITTEN_FOR_64, 1, block, [x])
        with pytest.raises(LaunchFailed, match=r"blocks of 64x1x1 only .reqd_work") as caught:
            opencl.synchronize()
        assert caught.value.refused
    assert x.get().tolist() == [1.0] * 8192


def test_a_work_group_that_is_too_large_says_what_the_most_are(opencl: Server) -> None:
    most = find_devices()[0].max_work_group_size
    x = opencl.array(numpy.zeros(1, numpy.float32))
    opencl.launch(DOUBLE, 1, most * 2, [x])
    with pytest.raises(LaunchFailed, match=f"too large: the most are {most} work-items"):
        opencl.synchronize()


def test_a_bad_work_group_is_found_though_the_launch_is_dropped(
    opencl: Server, in_mode: InMode
) -> None:
    in_mode(ProcessMode.COMPILE_AND_AUTOTUNE)
    opencl.launch(WRITTEN_FOR_64, 1, 32, [opencl.empty(32, numpy.float32)])
    with pytest.raises(LaunchFailed, match="blocks of 64x1x1 only"):
        opencl.synchronize()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([numpy.float32(1)], "it takes 1 arguments, not 2"),
        ([], "it takes 1 arguments, not 0"),
    ],
)
def test_a_wrong_number_of_arguments_is_refused(
    opencl: Server, more: list[object], message: str
) -> None:
    x = opencl.array(numpy.zeros(1, numpy.float32))
    opencl.launch(DOUBLE, 1, 1, [x, *more] if more else [])
    with pytest.raises(LaunchFailed, match=message):
        opencl.synchronize()


def test_an_argument_of_another_size_is_refused(opencl: Server) -> None:
    kernel = Kernel("one", opencl="__kernel void one(__global int *x, int n) { x[0] = n; }")
    opencl.launch(kernel, 1, 1, [opencl.empty(1, numpy.int32), numpy.int64(1)])
    with pytest.raises(LaunchFailed, match=r"argument 1, .*1.*, does not suit it"):
        opencl.synchronize()


def test_a_grid_of_three_dimensions_reaches_every_work_item(opencl: Server) -> None:
    source = """
    __kernel void where(__global int *x) {
        int i = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0);
        x[i + get_global_id(0)] = get_group_id(0) * 100 + get_local_id(1) * 10 + get_local_id(2);
    }
    """
    x = opencl.array(numpy.full((2, 6, 4), -1, numpy.int32))
    opencl.launch(Kernel("where", opencl=source), (2, 2, 1), (2, 3, 2), [x])
    z, y, i = numpy.meshgrid(range(2), range(6), range(4), indexing="ij")
    assert numpy.array_equal(x.get(), i // 2 * 100 + y % 3 * 10 + z)


def test_functions_of_one_source_are_one_kernel(opencl: Server, in_mode: InMode) -> None:
    source = "__kernel void a(__global int *x) { x[0] += 1; }\n"
    source += "__kernel void b(__global int *x) { x[0] += 10; }"
    collector = in_mode(ProcessMode.EXECUTE)
    x = opencl.array(numpy.zeros(1, numpy.int32))
    for name in ("a", "b", "a"):
        opencl.launch(Kernel(name, opencl=source), 1, 1, [x])
    assert x.get().tolist() == [12]
    assert collector.statistics().compilation.registered == 1


def test_options_and_their_order_make_another_kernel(opencl: Server, in_mode: InMode) -> None:
    source = "__kernel void n(__global int *x) { x[0] = N; }"
    collector = in_mode(ProcessMode.EXECUTE)
    x = opencl.array(numpy.zeros(1, numpy.int32))
    for options in (("-DN=1",), ("-DN=2",), ("-DM=1", "-DN=1"), ("-DN=1", "-DM=1")):
        opencl.launch(Kernel("n", opencl=source, options=options), 1, 1, [x])
        assert x.get().tolist() == [int(options[options[0].startswith("-DM")][-1])]
    assert collector.statistics().compilation.registered == 4


def test_an_edited_header_makes_another_kernel_and_the_old_text_the_old_one(
    opencl: Server, in_mode: InMode, tmp_path: Path, store: Store
) -> None:
    inner = tmp_path / "inner.h"
    (tmp_path / "outer.h").write_text('#include "inner.h"\n')
    source = '#include "outer.h"\n__kernel void v(__global int *x) { x[0] = V; }'
    kernel = Kernel("v", opencl=source, options=("-I", str(tmp_path)))
    x = opencl.array(numpy.zeros(1, numpy.int32))
    collector = in_mode(ProcessMode.EXECUTE)
    for value, obtained in ((1, 1), (2, 2), (1, 2)):
        inner.write_text(f"#define V {value}\n")
        (tmp_path / "unrelated.h").write_text(f"#define W {value}\n")
        opencl.launch(kernel, 1, 1, [x])
        assert x.get().tolist() == [value]
        assert collector.statistics().compilation.obtained == obtained
    assert len(set(store.kept.values())) == 2


def test_a_queued_kernel_is_compiled_with_its_headers_as_they_were(
    opencl: Server, in_mode: InMode, tmp_path: Path
) -> None:
    header = tmp_path / "v.h"
    header.write_text("#define V 1\n")
    source = '#include "v.h"\n__kernel void v(__global int *x) { x[0] = V; }'
    kernel = Kernel("v", opencl=source, options=(f"-I{tmp_path}",))
    x = opencl.array(numpy.zeros(1, numpy.int32))
    collector = in_mode(ProcessMode.COMPILE_ONLY)
    opencl.launch(kernel, 1, 1, [x])
    opencl.synchronize()
    header.write_text("#define V 2\n")
    opencl.compile_queued()
    header.write_text("#define V 1\n")
    from gpurt_core.execution import StreamMode, StreamModeOverride

    with StreamModeOverride(StreamMode.EXECUTE, opencl.default_stream.service_stream):
        opencl.launch(kernel, 1, 1, [x])
    assert x.get().tolist() == [1]
    assert collector.statistics().compilation.registered == 1


def test_a_header_of_the_working_folder_that_changed_meanwhile_is_not_compiled(
    opencl: Server, in_mode: InMode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.h").write_text("#define V 1\n")
    source = '#include "v.h"\n__kernel void v(__global int *x) { x[0] = V; }'
    collector = in_mode(ProcessMode.COMPILE_ONLY)
    opencl.launch(Kernel("v", opencl=source), 1, 1, [opencl.empty(1, numpy.int32)])
    opencl.synchronize()
    Path("v.h").write_text("#define V 2\n")
    opencl.compile_queued()
    assert collector.statistics().compilation == CompilationStatistics(registered=1, failed=1)


def test_the_same_headers_elsewhere_make_the_same_kernel(
    opencl: Server, in_mode: InMode, tmp_path: Path
) -> None:
    source = '#include "v.h"\n__kernel void v(__global int *x) { x[0] = V; }'
    x = opencl.array(numpy.zeros(1, numpy.int32))
    collector = in_mode(ProcessMode.EXECUTE)
    for name in ("here", "there"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "v.h").write_text("#define V 7\n")
        opencl.launch(Kernel("v", opencl=source, options=("-I", str(folder))), 1, 1, [x])
    assert x.get().tolist() == [7]
    assert collector.statistics().compilation.registered == 1


def test_a_real_environment_serves_the_next_server(tmp_path: Path, in_mode: InMode) -> None:
    collector = in_mode(ProcessMode.EXECUTE)
    for expected in (
        CompilationStatistics(registered=1, compiled=1, stored=1),
        CompilationStatistics(registered=2, compiled=1, loaded=1, stored=1),
    ):
        with (
            Environment.open(tmp_path) as environment,
            connect("opencl:0", environment=environment) as server,
        ):
            x = server.array(numpy.ones(4, numpy.float32))
            server.launch(DOUBLE, 1, 4, [x])
            assert x.get().tolist() == [2.0] * 4
            assert environment.known("twice") != []
        assert collector.statistics().compilation == expected


def test_bytes_that_are_damaged_or_foreign_never_reach_the_driver(
    opencl: Server, store: Store, in_mode: InMode
) -> None:
    x = opencl.array(numpy.ones(4, numpy.float32))
    opencl.launch(DOUBLE, 1, 4, [x])
    opencl.synchronize()
    (id,) = store.kept
    whole = store.kept[id]
    collector = in_mode(ProcessMode.EXECUTE)
    flipped = bytearray(whole)
    flipped[-1] ^= 1
    for damaged in (b"", whole[: len(whole) // 2], bytes(flipped), b"something else"):
        store.kept[id] = damaged
        opencl.begin_generation()
        opencl.launch(DOUBLE, 1, 4, [x])
        opencl.synchronize()
        assert ClArtifact.decode(store.kept[id]) is not None
    assert collector.statistics().compilation.compiled == 4


def test_a_binary_that_the_device_refuses_is_counted_and_reported(
    opencl: Server, store: Store, in_mode: InMode
) -> None:
    x = opencl.array(numpy.ones(4, numpy.float32))
    opencl.launch(DOUBLE, 1, 4, [x])
    opencl.synchronize()
    (id,) = store.kept
    store.kept[id] = ClArtifact((b"of another device" * 99,)).encode()
    opencl.begin_generation()
    collector = in_mode(ProcessMode.EXECUTE)
    opencl.launch(DOUBLE, 1, 4, [x])
    with pytest.raises(LaunchFailed, match="refused twice") as caught:
        opencl.synchronize()
    assert isinstance(caught.value.cause, LoadRefused)
    expected = CompilationStatistics(registered=1, loaded=1, refused=1)
    assert collector.statistics().compilation == expected


def test_two_halves_of_a_device_are_two_devices() -> None:
    units = find_devices()[0].max_compute_units
    with connect("opencl:0.0") as first, connect("opencl:0.1") as second:
        assert first.service != second.service
        assert first.fingerprint == second.fingerprint
        assert first.fingerprint.endswith(f"{units // 2} compute units")
        x, y = (server.array(numpy.ones(4, numpy.float32)) for server in (first, second))
        first.launch(DOUBLE, 1, 4, [x])
        second.launch(DOUBLE, 1, 4, [y])
        assert x.get().tolist() == y.get().tolist() == [2.0] * 4
        with pytest.raises(ValueError, match=r"cannot be given to a launch on opencl:0\.1"):
            second.launch(DOUBLE, 1, 4, [x])


def test_halves_and_the_whole_share_binaries(store: Store, in_mode: InMode) -> None:
    collector = in_mode(ProcessMode.EXECUTE)
    for address in ("opencl:0", "opencl:0.0", "opencl:0.1"):
        with connect(address, environment=store) as server:
            x = server.array(numpy.ones(4, numpy.float32))
            server.launch(DOUBLE, 1, 4, [x])
            assert x.get().tolist() == [2.0] * 4
    expected = CompilationStatistics(registered=3, compiled=1, loaded=2, stored=1)
    assert collector.statistics().compilation == expected


def test_a_device_is_not_divided_into_more_parts_than_it_has() -> None:
    with pytest.raises(NoDevice, match=r"compute units, fewer than 4096"):
        connect("opencl:0.0/4096")


def test_the_fingerprint_names_the_driver_and_its_compiler(opencl: Server) -> None:
    device = find_devices()[0]
    assert device.name in opencl.fingerprint
    assert device.driver_version in opencl.fingerprint
    assert " ".join(device.platform.version.split()) in opencl.fingerprint


def test_an_artifact_reads_as_it_was_written() -> None:
    artifact = ClArtifact((b"one", b"", b"\nthree"), "-cl-mad-enable", "a warning")
    assert ClArtifact.decode(artifact.encode()) == artifact
