"""Decompositions of many matrices at once have the shapes and types of NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from gpurt_core.adapters.cupy.null_device import batched_solvers

Script = Callable[..., str]


def test_batched_decompositions_have_the_shapes_and_types_of_numpys(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        from gpurt_core.adapters.cupy.null_device import batched_solvers
        def looks(results):
            results = results if isinstance(results, tuple) else (results,)
            return [(array.shape, array.dtype) for array in results]
        for shape in [(2, 3, 4), (2, 4, 3), (3, 4, 4)]:
            host = numpy.random.rand(*shape).astype("float32")
            array = cupy.asarray(host)
            for mode in ("reduced", "complete", "r", "raw"):
                expected = looks(numpy.linalg.qr(host, mode))
                assert looks(batched_solvers.qr(array, mode)) == expected, (shape, mode)
            for full, vectors in [(True, True), (False, True), (False, False)]:
                expected = numpy.linalg.svd(host, full, vectors)
                if vectors:  # CuPy's function returns v, not its transpose
                    u, singular, v = expected
                    expected = (u, singular, v.swapaxes(-2, -1))
                result = batched_solvers.svd(array, "f", full, vectors, False)
                assert looks(result) == looks(tuple(expected) if vectors else expected)
        """
    )


def test_the_stand_ins_take_the_places_of_cupys() -> None:
    module = ModuleType("cupyx._cusolver")
    batched_solvers.take_places(module)
    names = vars(module)
    assert names["_gesvd_batched"] is batched_solvers.svd
    assert names["_geqrf_orgqr_batched"] is batched_solvers.qr
