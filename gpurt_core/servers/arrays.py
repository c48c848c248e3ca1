"""Arrays in the memory of a server's device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy
from numpy.typing import ArrayLike, DTypeLike, NDArray


class ArrayOwner(Protocol):
    """What an array asks of its server."""

    @property
    def name(self) -> str:
        """The server's name."""

    def read_array(self, array: ServerArray, out: NDArray[Any]) -> None:
        """Copies it to a contiguous array; raises the failures of launches that it was given to."""

    def write_array(self, array: ServerArray, values: NDArray[Any]) -> None:
        """Copies a contiguous array to it."""


class ServerArray:
    """A contiguous array on a device, in C order. Made by `Server.array` and `Server.empty`."""

    __slots__ = ("__weakref__", "dtype", "memory", "server", "shape")

    def __init__(
        self, server: ArrayOwner, shape: tuple[int, ...], dtype: numpy.dtype[Any], memory: Any
    ) -> None:
        self.server = server
        self.shape = shape
        self.dtype = dtype
        self.memory = memory
        """What the backend's driver allocated."""

    @property
    def size(self) -> int:
        """How many elements it has."""
        return int(numpy.prod(self.shape, dtype=numpy.int64))

    @property
    def nbytes(self) -> int:
        """How many bytes its elements take."""
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"<array of {self.dtype} {self.shape} on {self.server.name}>"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def get(self) -> NDArray[Any]:
        """A copy on the host, when the launches before it are done.

        Raises `LaunchFailed` for those that the array was an argument of. Under a mode that
        discards launches the values mean nothing.
        """
        out = numpy.empty(self.shape, self.dtype)
        self.server.read_array(self, out)
        return out

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError(f"{self!r} can only be copied to the host: do not ask for copy=False")
        values = self.get()
        return values if dtype is None else values.astype(dtype, copy=False)

    def set(self, values: ArrayLike) -> None:
        """Fills it with `values`, of its shape, which are converted to its type.

        They are copied in every mode: what is discarded are launches.
        """
        host = numpy.asarray(values, self.dtype, order="C")
        if host.shape != self.shape:
            raise ValueError(f"cannot fill {self!r} with values of shape {host.shape}")
        self.server.write_array(self, host)


def normal_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape as a tuple; raises `ValueError`."""
    lengths = (shape,) if isinstance(shape, int | numpy.integer) else tuple(shape)
    if any(length < 0 for length in lengths):
        raise ValueError(f"shape {shape!r}: no dimension can be negative")
    return tuple(int(length) for length in lengths)
