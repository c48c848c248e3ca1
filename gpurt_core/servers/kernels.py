"""Kernels in the languages that they are written in, and launches of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy

from gpurt_core.errors import KernelLanguageMissing

Dimensions = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel, in the languages that it is written in.

    A backend with a language of its own adds a field for it in a subclass.
    """

    name: str
    """The function that is launched: in CUDA C++ one that is `extern "C"`."""
    cuda: str | None = None
    """CUDA C++ source."""
    opencl: str | None = None
    """OpenCL C source."""
    options: tuple[str, ...] = ()
    """For the compiler, in order, as `("-DSIZE=16", "-I", "include")`."""

    def source(self, language: str) -> str:
        """The source in a language; raises `KernelLanguageMissing`."""
        text = getattr(self, language, None)
        if not isinstance(text, str):
            names = (field.name for field in fields(self) if field.name not in ("name", "options"))
            written = [name for name in names if getattr(self, name) is not None]
            raise KernelLanguageMissing(self.name, language, written)
        return text


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch, as it was issued."""

    kernel: Kernel
    grid: Dimensions
    """Blocks (work-groups) in each dimension."""
    block: Dimensions
    """Threads (work-items) of a block in each dimension."""
    args: tuple[Any, ...]
    """Arrays of the server, and NumPy scalars."""
    stream: int
    """The id of the stream that it goes out on."""

    def __str__(self) -> str:
        return (
            f"kernel {self.kernel.name!r} "
            f"(grid {as_text(self.grid)}, block {as_text(self.block)}, stream {self.stream})"
        )


def dimensions(what: str, given: int | Sequence[int]) -> Dimensions:
    """`given` in three dimensions; raises `ValueError`, which `what` names."""
    sizes = (given,) if isinstance(given, int | numpy.integer) else tuple(given)
    if not 1 <= len(sizes) <= 3 or any(int(size) < 1 for size in sizes):
        raise ValueError(f"{what} {given!r}: give one to three whole numbers, each at least 1")
    x, y, z = (*(int(size) for size in sizes), 1, 1)[:3]
    return x, y, z


def as_text(sizes: Sequence[int]) -> str:
    """Dimensions as people write them, `"64x1x1"`."""
    return "x".join(str(size) for size in sizes)
