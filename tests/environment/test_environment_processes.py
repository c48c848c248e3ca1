"""Several processes at one environment: claims, forks, kills."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from gpurt_core.environment import Environment
from tests.environment.child_scripts import WRITE, kill, said_by_all, start

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
        kill(holder)
        claim = environment.claim("kernel")
        assert claim is not None


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
    holder.communicate()


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


def test_sixteen_processes_that_read_and_write_at_once_lose_nothing(tmp_path: Path) -> None:
    writers = [start(WRITE, tmp_path, f"w{n}", 20) for n in range(16)]
    assert said_by_all(writers) == ["done\n"] * 16
    with Environment.open(tmp_path) as environment:
        for n in range(16):
            for i in range(20):
                assert environment.artifact(f"w{n}-{i}") == f"w{n}-{i}".encode() * 100
        assert environment.artifact("shared") == b"the same for all"
        assert environment.health().artifacts == 321


SAY = """
import sys
from gpurt_core.environment import Environment
environment = Environment.open(sys.argv[1])
for i in range(1_000_000):
    id = f"{sys.argv[2]}-{i}"
    assert environment.store(id, id.encode() * 100)
    print(id, flush=True)
"""


def test_what_a_killed_writer_said_it_had_stored_is_there_and_whole(tmp_path: Path) -> None:
    said: list[str] = []
    for n in range(5):
        writer = start(SAY, tmp_path, f"w{n}")
        assert writer.stdout is not None
        said += [writer.stdout.readline().strip() for _ in range(10 + 7 * n)]
        writer.kill()
        said += writer.communicate()[0].splitlines()[:-1]  # the last may be cut
    with Environment.open(tmp_path, must_write=True) as environment:
        assert [id for id in said if environment.artifact(id) != id.encode() * 100] == []
        assert environment.health().dropped == 0
        assert environment.store("after", b"x")


CLAIM = """
import sys
from gpurt_core.environment import Environment
with Environment.open(sys.argv[1]) as environment:
    made = []
    for number in range(40):
        claim = environment.claim(f"kernel:{number}")
        if claim is None:
            continue
        if environment.artifact(str(number)) is None:
            made.append(number)
            environment.store(str(number), b"x")
        claim.release()
print(*made)
"""


def test_processes_that_claim_what_they_make_make_each_thing_once(tmp_path: Path) -> None:
    said = said_by_all([start(CLAIM, tmp_path) for _ in range(8)])
    assert sorted(int(number) for line in said for number in line.split()) == list(range(40))
