"""A large environment: opening it, and finding one artifact, beside a folder with a file for each.

python -m benchmarks.environment_scale
"""

from __future__ import annotations

import hashlib
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

from benchmarks.side_by_side import measure, show
from gpurt_core.environment import Environment

ARTIFACTS, SIZE = 100_000, 4096
"""The size is that of a small kernel's cubin (bytes)."""
ROUNDS, LOOKUPS, STORES = 15, 500, 20


def main() -> None:
    """Prints the ratios."""
    random.seed(0)
    ids = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(ARTIFACTS)]
    content = random.randbytes(SIZE)
    with tempfile.TemporaryDirectory() as folder:
        files, kept = Path(folder, "files"), Path(folder, "env")
        files.mkdir()
        for id in ids:
            (files / id).write_bytes(content)
        fill(kept, ids, content)
        show_opening(files, kept)
        with Environment.open(kept) as environment:
            show_using(files, environment, ids, content)


def fill(folder: Path, ids: list[str], content: bytes) -> None:
    """Stores them as a run does, one by one, and says how long that took."""
    began = time.perf_counter()
    with Environment.open(folder) as environment:
        for id in ids:
            assert environment.store(id, content)
    seconds = time.perf_counter() - began
    print(f"{len(ids)} artifacts of {SIZE} bytes, stored in {seconds:.1f} s\n")


def show_opening(files: Path, kept: Path) -> None:
    """Until the first artifact can be asked for, and until it is known how many there are."""

    def open_it() -> None:
        Environment.open(kept).close()

    def open_and_count() -> None:
        with Environment.open(kept) as environment:
            assert environment.health().artifacts == ARTIFACTS

    def count_files() -> None:
        assert sum(1 for _ in files.iterdir()) == ARTIFACTS

    alternatives = {
        "a folder of files: count them": count_files,
        "environment: open, close": open_it,
        "environment: open, count, close": open_and_count,
    }
    show("opening", measure(alternatives, rounds=ROUNDS), unit="ms")


def show_using(files: Path, environment: Environment, ids: list[str], content: bytes) -> None:
    """Finding one at random, one that is not there, and keeping one more."""
    order = cycle(random.sample(ids, 20_000))

    def read_file() -> bytes:
        return (files / next(order)).read_bytes()

    def read_and_verify_file() -> bytes:
        return hashlib.blake2b(read_file(), digest_size=16).digest()

    def find() -> None:
        assert environment.artifact(next(order)) is not None

    found = {
        "a folder of files: read one": read_file,
        "a folder of files: read and verify one": read_and_verify_file,
        "environment: find one (verified)": find,
        "environment: find one that is not there": lambda: environment.artifact("0" * 64),
    }
    show("one lookup", measure(found, rounds=ROUNDS, calls=LOOKUPS), unit="us")
    stored: dict[str, Callable[[], object]] = {
        "a folder of files: write one": file_writer(files, content),
        "environment: store one": storer(environment, content),
    }
    show("one store", measure(stored, rounds=ROUNDS, calls=STORES), unit="us")


def file_writer(files: Path, content: bytes) -> Callable[[], object]:
    """Writes one more file in a way that a killed process leaves none half written."""
    names = new_names("file")

    def write() -> None:
        name = next(names)
        (files / f"{name}.part").write_bytes(content)
        (files / f"{name}.part").rename(files / name)

    return write


def storer(environment: Environment, content: bytes) -> Callable[[], object]:
    """Stores one more artifact."""
    names = new_names("artifact")
    return lambda: environment.store(next(names), content)


def new_names(kind: str) -> Iterator[str]:
    """Ids that there are not yet."""
    number = 0
    while True:
        yield hashlib.sha256(f"{kind} {number}".encode()).hexdigest()
        number += 1


if __name__ == "__main__":
    main()
