"""Every function of CuPy's runtime and driver has a stand-in, or is known to need none."""

from __future__ import annotations

from collections.abc import Callable

Script = Callable[..., str]


def test_every_function_that_cupy_offers_to_c_is_replaced_or_listed(run_python: Script) -> None:
    run_python(
        """
        from cupy_backends.cuda.api import driver, runtime
        from gpurt_core.adapters.cupy.null_device import NullDevice, device, profile_for
        from gpurt_core.adapters.cupy.null_device.capsules import capsule_name

        before = {module: dict(module.__pyx_capi__) for module in (driver, runtime)}
        NullDevice.install([profile_for("sm_80")])
        for module, functions in before.items():
            left = {
                name
                for name, capsule in functions.items()
                if module.__pyx_capi__[name] is capsule and "(" in capsule_name(capsule)
            }
            assert left == device.LEFT_ALONE[module.__name__], left
            for name, capsule in functions.items():  # importing modules compare the names
                assert capsule_name(module.__pyx_capi__[name]) == capsule_name(capsule)
        """
    )


def test_every_python_function_of_the_modules_is_replaced_or_listed(run_python: Script) -> None:
    run_python(
        """
        import types
        from cupy_backends.cuda.api import driver, runtime
        from gpurt_core.adapters.cupy.null_device import NullDevice, device, profile_for

        NullDevice.install([profile_for("sm_80")])
        helpers = {"_export_enum", "_is_cuda_python", "_getLocalRuntimeVersion", "check_status"}
        for module in (driver, runtime):
            left = {
                name
                for name, thing in vars(module).items()
                if callable(thing) and not isinstance(thing, (type, types.MethodType))
                and not name.startswith("__")
            }
            assert left <= device.LEFT_ALONE[module.__name__] | helpers, left
        """
    )


def test_a_callers_arguments_arrive_by_name_and_by_default(on_null_device: Script) -> None:
    on_null_device(
        """
        address = runtime.mallocManaged(size=64, flags=runtime.cudaMemAttachGlobal)
        runtime.memset(ptr=address, value=7, size=64)
        assert runtime.pointerGetAttributes(address).type == runtime.memoryTypeManaged
        runtime.free(ptr=address)
        stream = runtime.streamCreateWithFlags(flags=runtime.streamNonBlocking)
        runtime.streamBeginCapture(stream)
        assert runtime.graphInstantiate(runtime.streamEndCapture(stream)) != 0
        """
    )


def test_versions_and_properties_are_those_that_cupy_asks_for(on_null_device: Script) -> None:
    on_null_device(
        """
        assert runtime.driverGetVersion() == runtime.runtimeGetVersion()
        assert cupy.is_available()
        assert cupy.cuda.Device().compute_capability == "80"
        properties = runtime.getDeviceProperties(0)
        assert properties["name"] == b"gpurt null device (sm_80)"
        assert (properties["major"], properties["minor"], properties["warpSize"]) == (8, 0, 32)
        attributes = cupy.cuda.Device().attributes
        assert attributes["MultiProcessorCount"] == properties["multiProcessorCount"]
        assert cupy.cuda.Device().mem_info[1] == properties["totalGlobalMem"]
        """
    )
