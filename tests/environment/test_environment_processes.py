"""Several processes at one environment: claims, forks, kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpurt_core.environment import Environment

ROOT = Path(__file__).parents[2]


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


HOLD = """
import sys, time
from gpurt_core.environment import Environment
environment = Environment.open(sys.argv[1])
claim = environment.claim("kernel")
print("claimed" if claim else "taken", flush=True)
time.sleep(60)
"""


def test_a_claim_is_its_owners_until_it_is_released(tmp_path: Path) -> None:
    with Environment.open(tmp_path) as environment:
        claim = environment.claim("kernel")
        assert claim is not None
        assert environment.claim("kernel") is None
        assert environment.is_claimed("kernel")
        other = environment.claim_any(["kernel", "another"])
        assert other is not None
        assert other.what == "another"
        claim.release()
        claim.release()
        assert not environment.is_claimed("kernel")
        with environment.claim("kernel") or pytest.fail("not free"):
            assert environment.claim("kernel") is None
        assert environment.claim("kernel") is not None


def test_a_claim_of_a_living_process_holds_and_of_a_killed_one_is_taken_over(
    tmp_path: Path,
) -> None:
    holder = start(HOLD, tmp_path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "claimed\n"
    with Environment.open(tmp_path) as environment:
        assert environment.claim("kernel") is None
        holder.kill()
        holder.wait()
        claim = environment.claim("kernel")
        assert claim is not None
    holder.stdout.close()


def test_a_killed_process_that_nobody_has_waited_for_is_dead(tmp_path: Path) -> None:
    holder = start(HOLD, tmp_path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "claimed\n"
    holder.send_signal(signal.SIGKILL)
    stat = Path(f"/proc/{holder.pid}/stat")
    while stat.read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    with Environment.open(tmp_path) as environment:
        assert environment.claim("kernel") is not None
    holder.wait()
    holder.stdout.close()


def test_a_claim_of_another_machine_is_taken_over_once_it_stops_beating(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpurt_core.environment.claims._SILENT_SECONDS", 0.2)
    with Environment.open(tmp_path) as environment:
        assert environment.claim("kernel") is not None
        environment._database.write(
            lambda c: c.execute("UPDATE claims SET host = 'another machine'"), None
        )
        assert environment.claim("kernel") is None
        environment._database.write(lambda c: c.execute("UPDATE claims SET beat = beat + 1"), None)
        assert environment.claim("kernel") is None
        time.sleep(0.3)
        assert environment.claim("kernel") is not None


WRITE = """
import sys
from gpurt_core.environment import Environment
folder, name, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Environment.open(folder) as environment:
    for i in range(number):
        text = f"{name}-{i}".encode() * 100
        assert environment.store(f"{name}-{i}", text, label=name)
        assert environment.artifact(f"{name}-{i}") == text
        assert environment.store("shared", b"the same for all")
print("done")
"""


def test_processes_that_read_and_write_at_once_lose_nothing(tmp_path: Path) -> None:
    writers = [start(WRITE, tmp_path, f"w{n}", 40) for n in range(8)]
    for writer in writers:
        assert writer.communicate(timeout=60)[0] == "done\n"
    with Environment.open(tmp_path) as environment:
        for n in range(8):
            for i in range(40):
                assert environment.artifact(f"w{n}-{i}") == f"w{n}-{i}".encode() * 100
        assert environment.artifact("shared") == b"the same for all"
        assert environment.health().artifacts == 321


def test_what_a_killed_writer_had_stored_is_whole(tmp_path: Path) -> None:
    for n in range(5):
        writer = start(WRITE, tmp_path, f"w{n}", 100_000)
        time.sleep(0.15 + 0.05 * n)
        writer.kill()
        writer.wait()
        assert writer.stdout is not None
        writer.stdout.close()
    with Environment.open(tmp_path, must_write=True) as environment:
        stored = environment.known("w3")
        assert all(environment.artifact(id) == id.encode() * 100 for id in stored)
        assert environment.health().dropped == 0
        assert environment.store("after", b"x")


def test_a_forked_child_opens_the_file_for_itself(tmp_path: Path) -> None:
    with Environment.open(tmp_path) as environment:
        environment.store("before", b"x")
        claim = environment.claim("kernel")
        assert claim is not None
        child = os.fork()
        if child == 0:
            fine = environment.artifact("before") == b"x"
            fine = fine and environment.store("child", b"y") and environment.claim("kernel") is None
            environment.close()
            os._exit(0 if fine else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert environment.artifact("child") == b"y"
        assert environment.store("after", b"z")
