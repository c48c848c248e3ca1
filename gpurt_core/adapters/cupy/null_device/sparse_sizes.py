"""The sizes of sparse matrices, which is all that anybody asks cuSPARSE about them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any


class SparseSizes:
    """Stand-ins for the functions of cuSPARSE that know how large a matrix is."""

    def __init__(self, handles: Iterator[int]) -> None:
        self._handles = handles
        self._sizes: dict[int, tuple[int, int, int]] = {}

    def functions(self) -> dict[str, Callable[..., Any]]:
        """By the names of `cupy_backends.cuda.libs.cusparse`."""
        return {
            "createCoo": self._create,
            "createCsr": self._create,
            "createCsc": self._create,
            "destroySpMat": self._destroy,
            "spMatGetSize": self._size,
        }

    def _create(self, rows: int, cols: int, nnz: int, *_memory_and_types: int) -> int:
        handle = next(self._handles)
        self._sizes[handle] = (rows, cols, nnz)
        return handle

    def _destroy(self, desc: int) -> None:
        self._sizes.pop(desc, None)

    def _size(self, desc: int, rows: int, cols: int, nnz: int) -> None:
        """Writes 64 bits to each address. A product has no more entries than it was made with:
        none, as CuPy makes it."""
        for address, value in zip((rows, cols, nnz), self._sizes.get(desc, (0, 0, 0)), strict=True):
            ctypes.c_int64.from_address(address).value = value
