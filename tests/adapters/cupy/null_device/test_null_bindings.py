"""Inert bindings: what they refuse as CuPy does, and what they write into the host's memory."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable

import pytest

from gpurt_core.adapters.cupy.null_device.binding_checks import checks_capture, even_only
from gpurt_core.adapters.cupy.null_device.host_results import host_result
from gpurt_core.adapters.cupy.null_device.sparse_sizes import SparseSizes

Script = Callable[..., str]

STAND_IN = """
from types import FunctionType, ModuleType
from gpurt_core.adapters.cupy.null_device import bindings

def fails(*_):
    raise AssertionError("the library was called")

def binding(library, **results):
    module = ModuleType(f"cupy_backends.cuda.libs.{library}")
    for name, result in results.items():
        function = FunctionType(fails.__code__, globals())
        function.__doc__ = f"{name}(...) -> {result}"
        setattr(module, name, function)
    bindings.make_inert(module)
    return module
"""


def test_a_library_refuses_a_stream_that_is_captured(on_null_device: Script) -> None:
    on_null_device(
        """
        cublas = binding("cublas", sgemm="", setPointerMode="", create="intptr_t", setStream="")
        cusolver = binding("cusolver", sgetrf_bufferSize="int", ssyevj="int")
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            for function, name in [
                (cublas.sgemm, "cuBLAS"), (cublas.setStream, "cuBLAS"),
                (cusolver.sgetrf_bufferSize, "cuSOLVER"),
            ]:
                with pytest.raises(NotImplementedError, match=f"{name} API during stream capture"):
                    function(1, 2)
            cublas.setPointerMode(1, 0), cublas.create(), cusolver.ssyevj(1)
            stream.end_capture()
            assert cublas.sgemm(1, 2) is None and cusolver.sgetrf_bufferSize(1) == 0
        assert cublas.sgemm.__name__ == "sgemm"
        """,
        before=STAND_IN,
    )


def test_compiled_code_is_refused_a_captured_stream_too(on_null_device: Script) -> None:
    """Capsules of a module of CuPy stand for those of a library that is not installed here."""
    on_null_device(
        """
        import ctypes
        from gpurt_core.adapters.cupy.null_device import bindings, capsules
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        names = {
            "sgemm": b"PyObject *(intptr_t, float, int __pyx_skip_dispatch)",
            "sgetrsBatched": b"int (intptr_t, int __pyx_skip_dispatch)",
            "solve": b"__pyx_ctuple_size_t__and_size_t (intptr_t)",
        }
        module = ModuleType("cupy_backends.cuda.libs.cublas")
        module.__pyx_capi__ = {name: new(1, text, None) for name, text in names.items()}
        bindings.make_inert(module)
        def c(name, result):
            address = get(module.__pyx_capi__[name], names[name])
            arguments = [ctypes.c_ssize_t, ctypes.c_float, ctypes.c_int]
            return ctypes.PYFUNCTYPE(result, *arguments)(address)
        gemm, solve = c("sgemm", ctypes.py_object), c("sgetrsBatched", ctypes.c_int)
        assert gemm(1, 2.5, 0) is None and solve(1, 2.5, 0) == 0
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            for call in (gemm, solve):
                with pytest.raises(NotImplementedError, match="cuBLAS API during stream capture"):
                    call(1, 2.5, 0)
            stream.end_capture()
        assert gemm(1, 2.5, 0) is None
        """,
        before=STAND_IN,
    )


@pytest.mark.parametrize(
    ("library", "name", "checked"),
    [
        ("cublas", "sgetrfBatched", True),
        ("cublas", "getPointerMode", False),
        ("cublas", "destroy", False),
        ("cusolver", "sgesvd_bufferSize", True),
        ("cusolver", "ssyevd", True),
        ("cusolver", "ssyevj", False),
        ("cusolver", "xgesvdjSetTolerance", False),
        ("cusparse", "spMV", True),
        ("cusparse", "spMV_bufferSize", False),
        ("cusparse", "createIdentityPermutation", True),
        ("cusparse", "csrSetPointers", False),
        ("curand", "generateUniform", True),
        ("curand", "setGeneratorOffset", False),
    ],
)
def test_only_what_works_on_the_current_stream_looks_at_it(
    library: str, name: str, checked: bool
) -> None:
    assert checks_capture(library, name) is checked


def test_normally_distributed_values_are_made_in_pairs() -> None:
    generate = even_only("generateNormal", lambda *_arguments, **_keywords: "made")
    assert generate(1, 2, 4, 0.0, 1.0) == generate(1, 2, n=4) == generate() == "made"
    with pytest.raises(ValueError, match=r"generateNormal generates even numbers .* 3 were asked"):
        generate(1, 2, 3, 0.0, 1.0)


def test_what_a_library_writes_for_the_host_is_set_and_what_it_computes_is_a_read(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        cublas = binding("cublas", sgetrsBatched="int", sdot="", isamax="")
        cusolver = binding("cusolver", scsrlsvqr="")
        cusparse = binding("cusparse", xcsrilu02_zeroPivot="", snnz="", xcsrgeam2Nnz="")
        host, reads = numpy.array([77, 78], "int32"), device.reads
        def call(function, place, *arguments, address=host.ctypes.data):
            before = reads.count
            host[:] = 77, 78
            function(*(arguments + (0,) * 20)[:place], address, 0)
            assert host[1] == 78
            return int(host[0]), reads.count - before
        assert call(cublas.sgetrsBatched, 9) == (0, 0)
        assert call(cublas.sdot, 6) == (77, 1) == call(cublas.isamax, 4)
        assert call(cusolver.scsrlsvqr, 11) == (-1, 1)
        assert call(cusparse.xcsrilu02_zeroPivot, 2) == (-1, 1)
        assert call(cusparse.snnz, 8, 0, 0, 3, 5) == (15, 1)
        assert call(cusparse.xcsrgeam2Nnz, 13, 0, 3, 5, 0, 4, 0, 0, 0, 6) == (10, 1)
        on_device = cupy.full(1, 5, "int32").data.ptr
        assert call(cublas.sdot, 6, address=on_device) == (77, 0)
        pinned = cupy.cuda.alloc_pinned_memory(4)
        assert call(cublas.sdot, 6, address=pinned.ptr) == (77, 1)
        """,
        before=STAND_IN,
    )


def test_functions_that_write_for_the_device_are_left_alone() -> None:
    for library, name in [("cublas", "sgemm"), ("cublas", "sgetrfBatched"), ("curand", "sdot")]:
        assert host_result(library, name) is None


def test_a_sparse_matrix_knows_its_size() -> None:
    reads: list[None] = []
    functions = SparseSizes(itertools.count(5), lambda: reads.append(None)).functions()
    sizes = (ctypes.c_int64 * 3)()
    start = ctypes.addressof(sizes)

    def size(handle: int) -> list[int]:
        sizes[:] = [-1, -1, -1]
        functions["spMatGetSize"](handle, start, start + 8, start + 16)
        return list(sizes)

    matrix = functions["createCsr"](3, 4, 7, 0, 0, 0, 2, 2, 0, 0)
    other = functions["createCoo"](3, 4, 2, 0, 0, 0, 2, 0, 0)
    empty = functions["createCsc"](3, 4, 0, 0, 0, 0, 2, 2, 0, 0)
    assert len({matrix, other, empty}) == 3
    assert (size(matrix), size(other), size(empty)) == ([3, 4, 7], [3, 4, 2], [3, 4, 0])
    functions["spGEAM_nnz"](1, 0, 0, 0, matrix, 0, other, empty, 0, 0, 0, 0)
    assert size(empty) == [3, 4, 9]
    functions["spGEAM_nnz"](1, 0, 0, 0, matrix, 0, matrix, empty, 0, 0, 0, 0)
    assert size(empty) == [3, 4, 12]
    functions["denseToSparse_analysis"](1, 0, other, 0, 0)
    assert size(other) == [3, 4, 12]
    functions["destroySpMat"](matrix)
    assert size(matrix) == [0, 0, 0]
    assert len(reads) == 7
