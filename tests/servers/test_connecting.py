"""Addresses, backends, and the one server of a device."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpurt_core.servers
from gpurt_core.servers import (
    BadAddress,
    DeviceAddress,
    NoDevice,
    Part,
    connect,
    register,
    unregister,
)
from gpurt_core.servers.backends import Backends
from tests.servers.conftest import Store
from tests.servers.fresh_python import run_python
from tests.servers.numpy_backend import Faults, NumpyPlugin


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("opencl:0", DeviceAddress("opencl", 0)),
        ("cuda:12", DeviceAddress("cuda", 12)),
        ("opencl:0.1", DeviceAddress("opencl", 0, Part(1, 2))),
        ("opencl:3.1/4", DeviceAddress("opencl", 3, Part(1, 4))),
    ],
)
def test_an_address_reads_and_writes_the_same(text: str, address: DeviceAddress) -> None:
    assert DeviceAddress.parse(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text", ["", "opencl", "opencl:", "opencl:x", "opencl:-1", "opencl:0.", "0", "opencl:0 "]
)
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadAddress, match='write it as "opencl:0"'):
        connect(text)


@pytest.mark.parametrize("text", ["opencl:0.2", "opencl:0.0/0", "opencl:0.4/4"])
def test_a_part_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(BadAddress, match="parts the last is"):
        connect(text)


def test_an_unknown_scheme_lists_the_backends() -> None:
    with pytest.raises(NoDevice, match="no device tpu:0: the backends are cuda, opencl"):
        connect("tpu:0")


def test_a_device_that_is_not_there_says_what_the_last_one_is() -> None:
    with pytest.raises(NoDevice, match="no device opencl:99: the last OpenCL device is opencl:0"):
        connect("opencl:99")


def test_a_registered_backend_is_found_until_it_is_taken_out() -> None:
    plugin = NumpyPlugin()
    register(plugin)
    with connect("numpy:0") as server:
        assert server.name == "numpy:0"
    unregister(plugin)
    with pytest.raises(NoDevice, match="the backends are"):
        connect("numpy:0")


def test_backends_come_in_the_order_cuda_opencl_others() -> None:
    backends = Backends()
    backends.register(NumpyPlugin())
    assert [backend.scheme for backend in backends.all()] == ["cuda", "opencl", "numpy"]


def test_without_an_address_the_first_device_there_is_is_connected() -> None:
    with connect() as server:
        assert server.name in ("cuda:0", "opencl:0")


def test_without_any_device_everything_tried_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Without:
        def __init__(self, scheme: str) -> None:
            self.scheme = scheme

        def devices(self) -> list[str]:
            raise NoDevice(self.scheme, [f"{self.scheme} is not installed: install it"])

    monkeypatch.setattr(
        "gpurt_core.servers.connecting.backends.all", lambda: [Without("cuda"), Without("opencl")]
    )
    with pytest.raises(NoDevice) as caught:
        connect()
    assert str(caught.value) == (
        "no device: cuda: cuda is not installed: install it; "
        "opencl: opencl is not installed: install it"
    )


def test_who_connects_again_shares_the_server(faults: Faults, store: Store) -> None:
    first = connect("numpy:0", environment=store)
    second = connect("numpy:0")
    third = connect("numpy:0", environment=store)
    assert first is second is third
    first.close()
    second.close()
    assert second.array([1]).get().tolist() == [1]
    third.close()
    with connect("numpy:0") as another:
        assert another is not first


def test_other_options_for_a_connected_device_are_refused(faults: Faults, store: Store) -> None:
    with connect("numpy:0", environment=store) as server:
        with pytest.raises(ValueError, match="numpy:0 is connected with other options: close"):
            connect("numpy:0", environment=store, parallelism=3)
        assert server.array([1]).get().tolist() == [1]
    with connect("numpy:0", parallelism=3):
        pass


def test_the_exported_names_are_sorted_and_there() -> None:
    names = gpurt_core.servers.__all__
    assert names == sorted(names)
    assert all(hasattr(gpurt_core.servers, name) for name in names)


def test_a_package_adds_a_backend_with_an_entry_point(tmp_path: Path) -> None:
    """As installed: a module, and the folder that says what is in the package."""
    (tmp_path / "numpy_devices.py").write_text(
        "from tests.servers.numpy_backend import NumpyBackend, hookimpl\n"
        "@hookimpl\n"
        "def gpurt_servers():\n"
        "    return NumpyBackend()\n"
    )
    folder = tmp_path / "numpy_devices-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy-devices\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[gpurt]\nnumpy = numpy_devices\n")
    output = run_python(
        f"""
        import sys
        sys.path.append({str(tmp_path)!r})
        from gpurt_core.servers import connect
        with connect("numpy:0") as server:
            print(server.name, server.array([3]).get())
        """
    )
    assert output == "numpy:0 [3]\n"
