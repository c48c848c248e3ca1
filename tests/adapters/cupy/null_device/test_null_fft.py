"""Plans of cuFFT have the shapes and types of NumPy's transforms, and need no library."""

from __future__ import annotations

from collections.abc import Callable

Script = Callable[..., str]

STAND_INS = """
from types import ModuleType
from gpurt_core.adapters.cupy.null_device import fft_plans

class Plan:  # as CuPy's: it asks the library when it is made
    def __init__(self, *arguments, **keywords):
        raise AssertionError("cuFFT was asked")
    def _sanity_checks(self, itype, otype, etype, length, size):
        assert etype == runtime.CUDA_C_32F

cufft = ModuleType("cupy.cuda.cufft")
for number, kind in enumerate(["C2C", "R2C", "C2R", "Z2Z", "D2Z", "Z2D"]):
    setattr(cufft, f"CUFFT_{kind}", number)
cufft.Plan1d, cufft.PlanNd, cufft.XtPlanNd = Plan, type("N", (Plan,), {}), type("X", (Plan,), {})
fft_plans.take_places(cufft)
"""


def test_plans_of_one_axis_have_the_shapes_and_types_of_numpys(on_null_device: Script) -> None:
    on_null_device(
        """
        real = cupy.ones((3, 8), "float32")
        spectrum = numpy.fft.rfft(numpy.ones((3, 8)))
        plan = cufft.Plan1d(8, cufft.CUFFT_R2C, 3)
        out = plan.get_output_array(real)
        assert out.shape == spectrum.shape and out.dtype == "complex64"
        plan.check_output_array(real, out)
        back = cufft.Plan1d(8, cufft.CUFFT_C2R, 3).get_output_array(out)
        assert back.shape == (3, 8) and back.dtype == "float32"
        double = cufft.Plan1d(8, cufft.CUFFT_Z2Z, 3).get_output_array(cupy.ones((3, 8), "D"))
        assert double.shape == (3, 8) and double.dtype == "complex128"
        for wrong in (cupy.empty((3, 4), "F"), cupy.empty((3, 5), "D")):
            with pytest.raises(ValueError, match="out"):
                plan.check_output_array(real, wrong)
        before = out.get()
        plan.fft(real, out, -1)
        assert (out.get() == before).all()
        assert isinstance(plan, Plan) and plan.handle == 0
        """,
        before=STAND_INS,
    )


def test_plans_of_several_axes_have_the_shapes_and_types_of_numpys(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        real = cupy.ones((4, 6), "float64")
        plan = cufft.PlanNd(
            (4, 6), None, 1, 24, None, 1, 16, cufft.CUFFT_D2Z, 1, "C", 1, 4
        )
        out = plan.get_output_array(real)
        assert out.shape == numpy.fft.rfft2(real.get()).shape and out.dtype == "complex128"
        plan.check_output_array(real, out)
        plan.check_output_array(real, real)
        for wrong in (cupy.empty((4, 6), "D"), cupy.empty((4, 4), "F"), out.copy(order="F")):
            with pytest.raises(ValueError, match="output"):
                plan.check_output_array(real, wrong)
        """,
        before=STAND_INS,
    )


def test_plans_of_any_types_know_them_and_refuse_what_does_not_fit(on_null_device: Script) -> None:
    on_null_device(
        """
        def plan(into, execution="F", last_size=None):
            return cufft.XtPlanNd(
                (4, 8), None, 1, 32, "F", None, 1, 32, into, 1, execution,
                order="C", last_axis=-1, last_size=last_size,
            )
        a = cupy.ones((4, 8), "F")
        out = plan("F").get_output_array(a)
        assert out.shape == (4, 8) and out.dtype == "complex64"
        half = plan("f", last_size=5).get_output_array(a)
        assert half.shape == (4, 5) and half.dtype == "float32"
        plan("F").fft(a, out, -1)
        with pytest.raises(ValueError, match="mismatch"):
            plan("F", execution="D")
        with pytest.raises(TypeError):
            plan("g")
        with pytest.raises(NotImplementedError, match="complex32"):
            plan("E").get_output_array(a)
        """,
        before=STAND_INS,
    )


def test_plans_that_are_made_in_advance_for_callbacks_need_no_library(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        first, second = cufft.create(), cufft.create()
        assert 0 < first < second
        assert cufft.setAutoAllocation(first, 0) == 0
        assert cufft.setJITCallback(first, "load", b"code", 1, 0) == 0
        plan = cufft.Plan1d(8, cufft.CUFFT_C2C, 1, prealloc_plan=first)
        assert plan.nx == 8 and plan.batch == 1
        """,
        before=STAND_INS,
    )


def test_a_plan_of_several_devices_has_room_on_each_and_reads_into_numpys_arrays(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        plan = cufft.Plan1d(1000, cufft.CUFFT_C2C, 2, devices=2)
        assert plan.gpus == [0, 1] == [area.device_id for area in plan.work_area]
        assert [area.mem.size for area in plan.work_area] == [8192, 8192]
        assert cufft.Plan1d(8, cufft.CUFFT_C2C, 1, devices=[1, 0]).gpus == [1, 0]
        host, reads = numpy.ones(2000, "F"), device.reads.count
        plan.fft(cupy.ones(2000, "F"), cupy.ones(2000, "F"), -1)
        assert device.reads.count == reads
        plan.fft(host, host, -1)
        assert device.reads.count == reads + 1 and (host == 1).all()
        """,
        "sm_80",
        "sm_80",
        before=STAND_INS,
    )
