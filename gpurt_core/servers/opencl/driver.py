"""One OpenCL device under a `DeviceServer`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from gpurt_core.compilation import ArtifactStore
from gpurt_core.servers.arrays import ServerArray
from gpurt_core.servers.kernels import Dimensions, Kernel, Launch, as_text
from gpurt_core.servers.opencl.devices import fingerprint
from gpurt_core.servers.opencl.keys import ClKernel, make_kernel
from gpurt_core.servers.opencl.target import ClTarget, LoadedProgram

_NANOSECOND = 1e-9
_REFUSALS = (
    "INVALID_WORK_GROUP_SIZE",
    "INVALID_WORK_ITEM_SIZE",
    "INVALID_GLOBAL_WORK_SIZE",
    "INVALID_KERNEL_ARGS",
)


class ClRun:
    """A launch that went out."""

    def __init__(self, event: Any) -> None:
        self._event = event

    @cached_property
    def failure(self) -> BaseException | None:
        """The device's error, where its status is one."""
        status = int(self._event.command_execution_status)
        return None if status >= 0 else RuntimeError(f"it ended with the OpenCL status {status}")

    @property
    def seconds(self) -> float:
        """From its start on the device to its end."""
        profile = self._event.profile
        return float(profile.end - profile.start) * _NANOSECOND


class ClDriver:
    """A device with a context of its own."""

    language = "opencl"

    def __init__(self, device: Any, store: ArtifactStore | None) -> None:
        import pyopencl

        from gpurt_core.servers.opencl import native

        self._cl = pyopencl
        self._native = native
        self._device = device
        self._context = pyopencl.Context([device])
        self.fingerprint = fingerprint(device)
        self.target = ClTarget(store)
        self._known: dict[Kernel, tuple[str, ClKernel]] = {}

    def identify(self, kernel: Kernel) -> tuple[str, ClKernel]:
        """Its id, and what is built; looked at anew where there are headers, which may change."""
        known = self._known.get(kernel)
        if known is None:
            source = kernel.source(self.language)
            made = make_kernel(source, kernel.options, self._context, (self._device,), kernel.name)
            known = made.id, made
            self.target.expect(made.id, made)
            if not made.headers.findings:
                self._known[kernel] = known
        return known

    def open_stream(self) -> Any:
        """A queue that runs in order and takes times."""
        profiling = self._cl.command_queue_properties.PROFILING_ENABLE
        return self._cl.CommandQueue(self._context, self._device, properties=profiling)

    def wait(self, stream: Any) -> None:
        """Waits for the queue."""
        stream.finish()

    def allocate(self, nbytes: int) -> Any:
        """A buffer, of one byte at least."""
        return self._cl.Buffer(self._context, self._cl.mem_flags.READ_WRITE, max(nbytes, 1))

    def write(self, memory: Any, host: NDArray[Any], stream: Any) -> None:
        """Copies to a buffer."""
        self._cl.enqueue_copy(stream, memory, host, is_blocking=True)

    def read(self, memory: Any, host: NDArray[Any], stream: Any) -> None:
        """Copies from a buffer."""
        self._native.enqueue_read_buffer(stream, memory, host, is_blocking=True)

    def prepare(self, loaded: LoadedProgram, launch: Launch) -> tuple[Any, Dimensions, Dimensions]:
        """The function with its arguments, the global size and the local size."""
        function = loaded.function(launch.kernel.name)
        if function.num_args != len(launch.args):
            raise ValueError(f"it takes {function.num_args} arguments, not {len(launch.args)}")
        given = [a.memory if isinstance(a, ServerArray) else a for a in launch.args]
        for place, (argument, value) in enumerate(zip(launch.args, given, strict=True)):
            try:
                function.set_arg(place, value)
            except self._cl.Error as error:
                raise ValueError(
                    f"argument {place}, {argument!r}, does not suit it: {error}"
                ) from error
        self._check_block(function, launch.block)
        x, y, z = (n * size for n, size in zip(launch.grid, launch.block, strict=True))
        return function, (x, y, z), launch.block

    def _check_block(self, function: Any, block: Dimensions) -> None:
        info = self._cl.kernel_work_group_info
        written_for = self._group_info(function, info.COMPILE_WORK_GROUP_SIZE)
        if any(written_for) and tuple(written_for) != block:
            raise ValueError(
                f"it is written for blocks of {as_text(written_for)} only (reqd_work_group_size), "
                f"not {as_text(block)}"
            )
        most, sides = (
            self._group_info(function, info.WORK_GROUP_SIZE),
            self._device.max_work_item_sizes,
        )
        x, y, z = block
        if x * y * z > most or any(n > side for n, side in zip(block, sides, strict=False)):
            raise ValueError(
                f"a block of {as_text(block)} is too large: the most are {most} work-items, "
                f"{as_text(sides)} in each dimension"
            )

    def _group_info(self, function: Any, what: int) -> Any:
        return function.get_work_group_info(what, self._device)

    def run(
        self, prepared: tuple[Any, Dimensions, Dimensions], stream: Any, *, timed: bool
    ) -> ClRun:
        """Enqueues it."""
        function, size, block = prepared
        return ClRun(self._native.enqueue_nd_range_kernel(stream, function, size, block))

    def refuses(self, error: BaseException) -> bool:
        """Whether OpenCL found the call invalid, rather than its device broken."""
        codes = {getattr(self._cl.status_code, name) for name in _REFUSALS}
        return isinstance(error, self._cl.Error) and error.code in codes

    def close(self) -> None:
        """Forgets its kernels: the rest goes with the last array."""
        self._known.clear()
