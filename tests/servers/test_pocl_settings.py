"""PoCL's folder, and CPUs that are newer than its LLVM."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpurt_core.servers.opencl import pocl
from gpurt_core.servers.opencl.devices import find_devices
from gpurt_core.servers.opencl.host_cpu import known_cpu, target_cpu
from tests.servers.fresh_python import run_python

RUN_ONE = """
    import os, numpy
    from gpurt_core.servers import Kernel, connect
    with connect("opencl:0") as server:
        x = server.array(numpy.ones(4, numpy.float32))
        text = "__kernel void f(__global float *x) { x[get_global_id(0)] += 1; }"
        server.launch(Kernel("f", opencl=text), 1, 4, [x])
        assert x.get().tolist() == [2.0] * 4
    print(os.environ["POCL_CACHE_DIR"], os.environ.get("POCL_KERNEL_CACHE"))
"""


@pytest.mark.parametrize(
    "environment", [{"HOME": None}, {"HOME": "/proc/x"}, {"XDG_CACHE_HOME": "/proc/nope"}]
)
def test_no_home_is_needed(environment: dict[str, str | None]) -> None:
    assert run_python(RUN_ONE, environment).endswith(" 0\n")


def test_a_folder_of_the_users_stays_and_one_of_ours_is_removed(tmp_path: Path) -> None:
    chosen = {"POCL_CACHE_DIR": str(tmp_path), "POCL_KERNEL_CACHE": "1"}
    assert run_python(RUN_ONE, chosen) == f"{tmp_path} 1\n"
    assert list(tmp_path.iterdir()) != []
    made = Path(run_python(RUN_ONE).split()[0])
    assert made.name.startswith("gpurt-pocl-")
    assert not made.exists()


def test_a_folder_that_cannot_be_written_is_the_reason_that_there_is_no_device() -> None:
    output = run_python(
        """
        import pytest
        from gpurt_core.servers import NoDevice, connect
        with pytest.raises(NoDevice) as caught:
            connect("opencl:0")
        print(caught.value)
        """,
        {"POCL_CACHE_DIR": "/proc/nope", "XDG_CACHE_HOME": "/proc/nope"},
    )
    assert output == (
        "no device opencl:0: PoCL cannot write to /proc/nope (POCL_CACHE_DIR): "
        "make it writable, or unset POCL_CACHE_DIR\n"
    )


def test_devices_that_were_asked_away_are_the_reason(tmp_path: Path) -> None:
    reason = pocl.why_no_device({"POCL_DEVICES": "cuda", "HOME": str(tmp_path)})
    assert reason == "PoCL shows none of the devices in POCL_DEVICES=cuda: unset it"
    assert "POCL_DEBUG=all" in pocl.why_no_device({"HOME": str(tmp_path)})


def test_a_child_process_takes_a_folder_of_its_own(tmp_path: Path) -> None:
    parents = str(tmp_path / "gpurt-pocl-of-the-parent")
    inherited = {"POCL_CACHE_DIR": parents, "POCL_KERNEL_CACHE": "0"}
    pocl.settle(inherited)
    mine = Path(inherited["POCL_CACHE_DIR"])
    assert not mine.is_relative_to(tmp_path)  # the parent removes its own
    pocl.settle(inherited)
    assert inherited["POCL_CACHE_DIR"] == str(mine)


def test_a_chosen_folder_without_keeping_is_divided(tmp_path: Path) -> None:
    chosen = {"POCL_CACHE_DIR": str(tmp_path / "chosen"), "POCL_KERNEL_CACHE": "0"}
    for _process in range(2):
        used = Path(run_python(RUN_ONE, chosen).split()[0])
        assert used.parent == tmp_path / "chosen"
        assert not used.exists()


def test_a_program_that_was_forked_is_told_to_be_spawned() -> None:
    output = run_python(
        """
        import os
        from gpurt_core.servers import NoDevice, connect
        connect("opencl:0").close()
        child = os.fork()
        if not child:
            try:
                connect("opencl:0")
            except NoDevice as error:
                print(error, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        """
    )
    assert "does not survive that: start this one with 'spawn'" in output


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ("sse2", "x86-64"),
        ("cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3", "x86-64-v2"),
        ("cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3 avx", "x86-64-v2"),
        (
            "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 f16c fma abm movbe xsave",
            "x86-64-v3",
        ),
        (
            "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3 "
            "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave "
            "avx512f avx512bw avx512cd avx512dq avx512vl",
            "x86-64-v4",
        ),
        ("avx512f avx512bw avx512cd avx512dq avx512vl", "x86-64"),
    ],
)
def test_the_level_of_a_cpu_is_the_highest_that_it_has_all_of(flags: str, name: str) -> None:
    assert known_cpu(set(flags.split())) == name


def test_every_device_is_taught_a_cpu_exactly_where_its_compiler_knows_none() -> None:
    for device in find_devices():
        unknown = device.platform.name == pocl.PLATFORM and device.version.endswith("-generic")
        assert (target_cpu(device) is not None) == unknown
