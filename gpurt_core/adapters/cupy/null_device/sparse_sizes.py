"""The sizes of sparse matrices, which is all that anybody asks cuSPARSE about them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any


class SparseSizes:
    """Stand-ins for the functions of cuSPARSE that know how large a matrix is.

    Sums and what is made of dense matrices have as many entries as there can be: their number
    decides which kernels run next. Products have none: there can be far too many.
    """

    def __init__(self, handles: Iterator[int], record_read: Callable[[], None]) -> None:
        self._handles = handles
        self._record_read = record_read
        self._sizes: dict[int, tuple[int, int, int]] = {}

    def functions(self) -> dict[str, Callable[..., Any]]:
        """By the names of `cupy_backends.cuda.libs.cusparse`."""
        return {
            "createCoo": self._create,
            "createCsr": self._create,
            "createCsc": self._create,
            "destroySpMat": self._destroy,
            "spMatGetSize": self._size,
            "denseToSparse_analysis": self._from_dense,
            "spGEAM_nnz": self._sum,
        }

    def _create(self, rows: int, cols: int, nnz: int, *_memory_and_types: int) -> int:
        handle = next(self._handles)
        self._sizes[handle] = (rows, cols, nnz)
        return handle

    def _destroy(self, desc: int) -> None:
        self._sizes.pop(desc, None)

    def _from_dense(self, _handle: int, _dense: int, sparse: int, *_how: int) -> None:
        rows, cols, _ = self._of(sparse)
        self._sizes[sparse] = (rows, cols, rows * cols)

    def _sum(self, *arguments: int) -> None:
        first, second, result = (arguments[place] for place in (4, 6, 7))
        rows, cols, _ = self._of(result)
        nnz = min(rows * cols, self._of(first)[2] + self._of(second)[2])
        self._sizes[result] = (rows, cols, nnz)

    def _size(self, desc: int, rows: int, cols: int, nnz: int) -> None:
        """Writes 64 bits to each address. CuPy asks for what has been computed."""
        self._record_read()
        for address, value in zip((rows, cols, nnz), self._of(desc), strict=True):
            ctypes.c_int64.from_address(address).value = value

    def _of(self, desc: int) -> tuple[int, int, int]:
        return self._sizes.get(desc, (0, 0, 0))
