"""Getting under CuPy in time, in every way there is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gpurt_core.adapters.cupy.early import STARTUP_FOLDER, startup_environment
from gpurt_core.adapters.cupy.null_device import profile_for

Script = Callable[..., str]

SHOW = """
import cupy
print(cupy.cuda.runtime.getDeviceCount(), cupy.cuda.Device(0).compute_capability)
"""


def test_installing_again_with_the_same_profiles_changes_nothing(on_null_device: Script) -> None:
    on_null_device(
        """
        assert NullDevice.install([profile_for("sm_80")]) is device
        assert NullDevice.current() is device
        assert [profile.architecture for profile in device.profiles] == ["sm_80"]
        """
    )


def test_other_profiles_are_refused_once_some_are_installed(on_null_device: Script) -> None:
    on_null_device(
        """
        from gpurt_core.errors import NullDeviceUnavailable
        with pytest.raises(NullDeviceUnavailable, match="other devices"):
            NullDevice.install([profile_for("sm_90")])
        """
    )


def test_it_is_too_late_after_cupy_was_imported(run_python: Script) -> None:
    run_python(
        """
        import cupy, pytest
        from gpurt_core.adapters.cupy.early import EarlyInstaller
        from gpurt_core.adapters.cupy.null_device import NullDevice, profile_for
        from gpurt_core.errors import NullDeviceUnavailable
        with pytest.raises(NullDeviceUnavailable, match="has been imported already"):
            NullDevice.install([profile_for("sm_80")])
        with pytest.raises(NullDeviceUnavailable, match="has been imported already"):
            EarlyInstaller([profile_for("sm_80")])
        assert NullDevice.current() is None
        """
    )


def test_it_is_in_time_after_the_runtime_alone_or_nvrtc_was_imported(run_python: Script) -> None:
    output = run_python(
        """
        from cupy_backends.cuda.api import runtime
        from cupy_backends.cuda.libs import nvrtc
        from gpurt_core.adapters.cupy.null_device import NullDevice, profile_for
        NullDevice.install([profile_for("sm_90")])
        """
        + SHOW.replace("\n", "\n        ")
    )
    assert output == "1 90\n"


def test_an_early_installer_waits_for_the_import_of_cupy(run_python: Script) -> None:
    output = run_python(
        """
        import sys
        from gpurt_core.adapters.cupy.early import EarlyInstaller
        from gpurt_core.adapters.cupy.null_device import NullDevice, profile_for
        EarlyInstaller([profile_for("sm_80"), profile_for("sm_90")])
        assert not [name for name in sys.modules if name.startswith("cupy")]
        assert NullDevice.current() is None
        import cupy
        print(cupy.cuda.runtime.getDeviceCount(), cupy.cuda.Device(1).compute_capability)
        EarlyInstaller([profile_for("sm_80"), profile_for("sm_90")])
        assert cupy.cuda.thrust.sort.__name__ == "checked"
        """
    )
    assert output == "2 90\n"


def test_an_early_installer_that_was_removed_does_nothing(run_python: Script) -> None:
    run_python(
        """
        from gpurt_core.adapters.cupy.early import EarlyInstaller
        from gpurt_core.adapters.cupy.null_device import NullDevice, profile_for
        EarlyInstaller([profile_for("sm_80")]).remove()
        import cupy
        assert NullDevice.current() is None
        """
    )


def test_children_get_the_null_device_through_their_environment(run_python: Script) -> None:
    environment = startup_environment([profile_for("sm_80"), profile_for("sm_90")], {})
    assert run_python(SHOW, environment) == "2 80\n"


def test_a_name_that_there_is_not_is_an_error_of_the_import(run_python: Script) -> None:
    run_python(
        """
        import pytest
        from gpurt_core.errors import UnknownArchitecture
        with pytest.raises(UnknownArchitecture, match="sm_1"):
            import cupy
        """,
        {"PYTHONPATH": STARTUP_FOLDER, "GPURT_NULL_DEVICE": "sm_1"},
    )


def test_the_environment_keeps_what_was_on_the_path_behind_the_startup_folder() -> None:
    environment = startup_environment([profile_for(80)], {"PYTHONPATH": "/a:/b", "HOME": "/h"})
    assert environment["PYTHONPATH"] == f"{STARTUP_FOLDER}:/a:/b"
    assert environment["HOME"] == "/h"
    assert startup_environment([profile_for(80)], environment) == environment


def test_the_users_own_sitecustomize_runs_too(run_python: Script, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')\n")
    environment = startup_environment([profile_for("sm_80")], {"PYTHONPATH": str(tmp_path)})
    output = run_python(f"import sitecustomize; print(sitecustomize.__file__)\n{SHOW}", environment)
    assert output == f"mine\n{tmp_path / 'sitecustomize.py'}\n1 80\n"


def test_a_process_without_cupy_imports_next_to_nothing(run_python: Script) -> None:
    environment = startup_environment([profile_for("sm_80")], {})
    output = run_python(
        "import sys; print(sorted(n for n in sys.modules if 'cupy' in n or 'ctypes' in n))",
        environment,
    )
    assert output == ("['gpurt_core.adapters.cupy', 'gpurt_core.adapters.cupy.early']\n")


def test_callbacks_run_after_the_import_in_order_or_at_once(run_python: Script) -> None:
    output = run_python(
        """
        from gpurt_core.adapters.cupy.early import forget, when_imported
        def unwanted(module): print("unwanted")
        when_imported("colorsys", lambda module: print("first", hasattr(module, "rgb_to_hsv")))
        when_imported("colorsys", unwanted)
        when_imported("colorsys", lambda module: print("second", module.__name__))
        forget("colorsys", unwanted)
        import colorsys
        when_imported("colorsys", lambda module: print("third", module.__name__))
        loader = colorsys.__spec__.loader
        print(type(loader).__name__, colorsys.__loader__ is loader)
        """
    )
    assert output == "first True\nsecond colorsys\nthird colorsys\nSourceFileLoader True\n"


def test_an_import_that_a_callback_fails_can_be_tried_again(run_python: Script) -> None:
    run_python(
        """
        import pytest, sys
        from gpurt_core.adapters.cupy.early import when_imported
        answers = [True, False]
        def fails_once(module):
            if answers.pop(0):
                raise LookupError("not yet")
        when_imported("colorsys", fails_once)
        with pytest.raises(LookupError, match="not yet"):
            import colorsys
        assert "colorsys" not in sys.modules
        import colorsys
        assert answers == []
        """
    )


HALF_WAY = """
import sys

class Refuses:
    def find_spec(self, name, path, target=None):
        if name == "cupy.random":
            raise ImportError("refused half-way")

refuses = Refuses()
sys.meta_path.insert(0, refuses)
"""


def test_an_import_of_cupy_that_fails_half_way_says_why_and_leaves_the_device_installed(
    run_python: Script,
) -> None:
    run_python(
        HALF_WAY
        + """
import pytest
from gpurt_core.adapters.cupy.early import EarlyInstaller
from gpurt_core.adapters.cupy.null_device import NullDevice, profile_for
EarlyInstaller([profile_for("sm_80")])
with pytest.raises(ImportError, match="refused half-way"):
    import cupy
installed = NullDevice.current()
assert installed is not None and NullDevice.install([profile_for("sm_80")]) is installed
from cupy_backends.cuda.api import runtime
assert runtime.getDeviceCount() == 1
"""
    )


def test_what_an_import_that_failed_has_left_is_too_late_and_is_named(run_python: Script) -> None:
    run_python(
        HALF_WAY
        + """
import pytest
with pytest.raises(ImportError, match="refused half-way"):
    import cupy
assert "cupy" not in sys.modules
from gpurt_core.adapters.cupy.early import EarlyInstaller
from gpurt_core.errors import NullDeviceUnavailable
from gpurt_core.adapters.cupy.null_device import NullDevice
with pytest.raises(NullDeviceUnavailable) as caught:
    EarlyInstaller(["sm_80"])
message = str(caught.value)
assert len(message.splitlines()) == 1 and "cupy._core has been imported already" in message, message
assert NullDevice.current() is None
"""
    )


def test_the_architecture_is_known_to_a_module_that_asks_when_it_is_imported(
    run_python: Script, tmp_path: Path
) -> None:
    (tmp_path / "eager_library.py").write_text(
        "import cupy\n"
        "ARCH = cupy.cuda.Device().compute_capability\n"
        "MODULE = cupy.RawModule(code='extern \"C\" __global__ void f(float* x) {}')\n"
        "F = MODULE.get_function('f')\n"
        "F.compile()\n"
        "ZERO = cupy.zeros(1)\n"
    )
    environment = startup_environment([profile_for("sm_86")], {"PYTHONPATH": str(tmp_path)})
    script = "import eager_library; print(eager_library.ARCH, eager_library.F.binary_version)"
    assert run_python(script, environment) == "86 86\n"


def test_a_caller_of_no_device_is_told_so(run_python: Script) -> None:
    run_python(
        """
        import pytest
        from gpurt_core.adapters.cupy.null_device import NullDevice
        from gpurt_core.errors import NullDeviceUnavailable
        with pytest.raises(NullDeviceUnavailable, match="no device was asked for"):
            NullDevice.install([])
        """
    )


def test_many_installers_of_the_same_devices_install_one(run_python: Script) -> None:
    run_python(
        """
        import sys
        from gpurt_core.adapters.cupy.early import EarlyInstaller
        from gpurt_core.adapters.cupy.null_device import NullDevice, profile_for
        installers = [EarlyInstaller(["sm_80"]) for _ in range(3)]
        from cupy_backends.cuda.api import driver, runtime
        installed = NullDevice.current()
        assert installed is not None and runtime.getDeviceCount() == 1
        EarlyInstaller([profile_for("sm_80")])
        assert NullDevice.current() is installed
        import cupy
        assert cupy.zeros(3).shape == (3,)
        """
    )
