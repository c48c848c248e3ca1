"""Decompositions of many matrices at once, without cuSOLVER.

Two functions of `cupyx._cusolver` hand their handle to the library from loops in C++, where nobody
can step in. These take their places: they do all that CuPy does around the loops, so that the same
kernels are reached, and leave out the loops.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any


def take_places(solvers: ModuleType) -> None:
    """Puts the stand-ins into `cupyx._cusolver`."""
    solvers.__dict__["_gesvd_batched"] = svd
    solvers.__dict__["_geqrf_orgqr_batched"] = qr


def svd(a: Any, a_dtype: str, full_matrices: bool, compute_uv: bool, overwrite_a: bool) -> Any:
    """`_gesvd_batched`: the singular values of (batch, n, m), with u and v (as columns) if
    asked for."""
    import cupy

    batch, n, m = a.shape
    is_transposed = m < n
    if is_transposed:
        n, m = m, n
        a = a.swapaxes(-2, -1)
    x = a.astype(a_dtype, order="C", copy=True)
    s = cupy.ndarray((batch, n), a_dtype.lower())
    _look_at_info(batch, "gesvd")
    if not compute_uv:
        return s
    u = cupy.ndarray((batch, m, m), a_dtype) if full_matrices else x
    v = x[..., :n] if full_matrices else cupy.ndarray((batch, n, n), a_dtype)
    if is_transposed:
        return u.swapaxes(-2, -1), s, v.conj()
    return v, s, u.swapaxes(-2, -1).conj()


def qr(a: Any, mode: str) -> Any:
    """`_geqrf_orgqr_batched`: q and r of (batch, m, n), or what `mode` asks for."""
    import cupy

    dtype, out_dtype = cupy.linalg._util.linalg_common_type(a)
    batch, m, n = a.shape
    k = min(m, n)
    x = a.swapaxes(-2, -1).astype(dtype, order="C", copy=True)
    _look_at_info(batch, "geqrf")
    if mode == "r":
        return _upper(x[..., :k].swapaxes(-2, -1), out_dtype)
    if mode == "raw":
        tau = cupy.empty((batch, k), dtype)
        return x.astype(out_dtype, copy=False), tau.astype(out_dtype, copy=False)
    columns = m if mode == "complete" and m > n else k
    q = cupy.empty((batch, max(n, columns), m), dtype)
    q[..., :n, :] = x
    _look_at_info(batch, "orgqr")
    q = q[..., :columns, :].swapaxes(-2, -1)
    return q.astype(out_dtype, copy=False), _upper(x[..., :columns].swapaxes(-2, -1), out_dtype)


def _upper(matrix: Any, dtype: Any) -> Any:
    import cupy

    return cupy.linalg._util._triu(matrix).astype(dtype, copy=False)


def _look_at_info(batch: int, routine: str) -> None:
    """CuPy looks for matrices that the library could not decompose."""
    import cupy

    info = cupy.ndarray((batch,), "int32")
    cupy.linalg._util._check_cusolver_dev_info_if_synchronization_allowed(routine, info)
