"""Libraries that call CUDA themselves: absent, inert, or refused; a driver is never looked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from gpurt_core.adapters.cupy.null_device import bindings, libraries

Script = Callable[..., str]

WITHOUT_LIBRARIES = """
import cuda.pathfinder
original = cuda.pathfinder.load_nvidia_dynamic_lib
def only_nvrtc(libname):
    if libname != "nvrtc":
        raise cuda.pathfinder.DynamicLibNotFoundError("looked in fifteen folders\\n" * 15)
    return original(libname)
cuda.pathfinder.load_nvidia_dynamic_lib = only_nvrtc
"""


def test_a_library_that_is_not_installed_is_one_line_with_a_remedy(run_python: Script) -> None:
    run_python(
        WITHOUT_LIBRARIES
        + """
from gpurt_core.adapters.cupy.null_device import NullDevice, profile_for
device = NullDevice.install([profile_for("sm_80")])
import cupy, pytest
for use, package in [
    (lambda: cupy.random.rand(3), "nvidia-curand"),
    (lambda: cupy.ones((3, 3)) @ cupy.ones((3, 3)), "nvidia-cublas"),
    (lambda: cupy.linalg.svd(cupy.ones((3, 3))), "nvidia-cusolver"),
    (lambda: cupy.fft.fft(cupy.ones(8)), "nvidia-cufft"),
]:
    absences = len(device.absences)
    with pytest.raises(ImportError) as caught:
        use()
    lines = str(caught.value).splitlines()
    assert len(lines) == 1 and "is not installed: pip install nvidia-" in lines[0]
    assert any(package in reason for reason in device.absences[absences:]), package
"""
    )


def test_sorting_reducing_and_generating_do_nothing_and_raise_nothing(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        x = cupy.asarray([3, 1, 2], dtype="float32")
        assert cupy.sort(x).shape == (3,)
        assert cupy.argsort(x).dtype == "int64"
        assert cupy.lexsort(cupy.asarray([[3, 1, 2], [1, 1, 0]])).shape == (3,)
        with pytest.raises(ValueError):
            cupy.sort(cupy.asarray(3.0))
        for accelerators in ([], ["cub"]):
            cupy._core.set_reduction_accelerators(accelerators)
            cupy._core.set_routine_accelerators(accelerators)
            assert cupy.cumsum(x).shape == (3,) and x.sum().shape == () == x.max().shape
        assert cupy.unique(x).ndim == 1
        generator = cupy.random.Generator(cupy.random.XORWOW(7))
        assert generator.random(5).shape == (5,)
        """
    )


def test_jitify_is_refused_with_the_reason(on_null_device: Script) -> None:
    on_null_device(
        """
        from gpurt_core.errors import NotOnNullDevice
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            kernel = cupy.RawKernel('extern "C" __global__ void f() {}', "f", jitify=True)
            with pytest.raises(NotOnNullDevice, match="jitify=True does not work on the null"):
                kernel.compile()
        assert any("jitify" in reason for reason in device.absences)
        """
    )


def test_no_driver_and_no_device_is_ever_looked_for(run_python: Script, tmp_path: Path) -> None:
    """The dynamic linker tells which libraries a process looks for.

    NVRTC looks for a driver when it compiles, and so does Thrust: hence `hide_devices`.
    """
    work = """
import cupy
from cupy.cuda import runtime
try:
    x = cupy.asarray([1.0, 2.0, 3.0])
    x.get(), cupy.zeros(100)[3].item()
    with cupy.cuda.Stream() as stream:
        stream.record().synchronize()
    cupy.cuda.Device().mem_info, runtime.getDeviceProperties(0), cupy.cuda.alloc_pinned_memory(8)
    cupy.cuda.driver.ctxGetCurrent(), cupy.cuda.Device().attributes
except runtime.CUDARuntimeError as error:
    print(error)
"""
    install = """
from gpurt_core.adapters.cupy.null_device import NullDevice, profile_for
NullDevice.install([profile_for("sm_80")])
"""
    found = {}
    for name, script in {"plain": work, "null": install + work}.items():
        (tmp_path / name).mkdir()
        trace = {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(tmp_path / name / "trace")}
        # The plain process must not find a real device, where there is one.
        run_python(script, {**trace, "CUDA_VISIBLE_DEVICES": "-1"})
        traces = [path.read_text(errors="replace") for path in (tmp_path / name).iterdir()]
        assert any("find library=" in text for text in traces)
        found[name] = any("find library=libcuda.so" in text for text in traces)
    assert found == {"plain": True, "null": False}


def test_c_code_that_nobody_intercepts_is_kept_from_a_real_gpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")  # so that what it was comes back afterwards
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    device_file = tmp_path / "nvidia0"
    monkeypatch.setattr(libraries, "_DEVICE_FILES", (str(device_file),))
    libraries.hide_devices()
    assert "CUDA_VISIBLE_DEVICES" not in os.environ
    device_file.touch()
    libraries.hide_devices()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "-1"


def test_a_binding_becomes_inert_but_for_what_needs_no_device() -> None:
    binding = ModuleType("binding")

    def fails(*_: object) -> None:
        raise RuntimeError("called CUDA")

    results = {"create": "size_t", "spCreate": "", "spGEMM_createDescr": "size_t", "sgemm": ""}
    results |= {"size": "size_t", "sizes": "(size_t, int)", "norm": "double", "get": "Attributes"}
    for name, result in results.items():
        function = FunctionType(fails.__code__, globals())
        function.__doc__ = f"{name}(intptr_t handle, int n) -> {result}\nMore of it."
        setattr(binding, name, function)
    binding.__dict__.update(getVersion=lambda _: 130000, OPERATION=3, SomeError=RuntimeError)
    bindings.make_inert(binding)
    assert binding.sgemm(1, 2, alpha=3) is None
    assert (binding.size(1), binding.sizes(1), binding.norm(1)) == (0, (0, 0), 0.0)
    assert binding.get(1) is None
    made = {binding.create(), binding.create(), binding.spCreate(), binding.spGEMM_createDescr()}
    assert len(made - {0}) == 4
    assert (binding.getVersion(0), binding.OPERATION) == (130000, 3)
    assert binding.SomeError is RuntimeError
