"""The compile seam: where CuPy asks for every one of its modules, and gets one that is steered.

It works on any device and at any time, also on CuPy that has been in use. What is compiled is
counted to the recorder in force; what a launch does is what the modes in force say. Kernels come
from an environment, if there is one, and from CuPy's own cache if there is none.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from gpurt_core.adapters.cupy import versions
from gpurt_core.adapters.cupy.artifact import CudaArtifact
from gpurt_core.adapters.cupy.cached import CachedLoader, WatchedCache
from gpurt_core.adapters.cupy.compiler import CudaKernel
from gpurt_core.adapters.cupy.device import SteeredDevice
from gpurt_core.adapters.cupy.fusion_order import fix_fusion_order
from gpurt_core.adapters.cupy.keys import KernelKey, KeyMaker
from gpurt_core.adapters.cupy.observer import KernelReport, SeamObserver
from gpurt_core.adapters.cupy.pool import WORTH_STARTING, CompilePool
from gpurt_core.adapters.cupy.request import KernelRequest, request_of
from gpurt_core.adapters.cupy.target import CudaTarget
from gpurt_core.compilation import (
    ArtifactStore,
    ClaimSource,
    HeaderSet,
    KernelEvent,
    LoaderGroup,
    QueueingLoader,
    open_loader,
    usable_cpus,
)
from gpurt_core.execution import KernelOutcome
from gpurt_core.execution.overrides import republish

if TYPE_CHECKING:
    from gpurt_core.adapters.cupy.null_device import NullDevice


class CupySeam(LoaderGroup):
    """The seam of this process."""

    def __init__(
        self,
        store: ArtifactStore | None,
        *,
        null_device: NullDevice | None = None,
        parallelism: int | None = None,
        observer: SeamObserver | None = None,
        claims: ClaimSource | None = None,
        processes: int = 1,
    ) -> None:
        """With no `store` kernels come from CuPy's own cache, and nothing is ever queued.

        `parallelism` is how many kernels compile at once, in all the `processes` together that
        share the store; `claims` tells them who compiles what.
        """
        self._store = store
        self._null_device = null_device
        self._parallelism = parallelism or usable_cpus()
        self._pool: CompilePool | None = None
        self._share = math.ceil(self._parallelism / processes)
        """How many of these may compile in this process."""
        self._claims = claims
        self._observer = observer or SeamObserver()
        self._devices: dict[int, SteeredDevice] = {}
        self._cached_devices: dict[int, SteeredDevice] = {}
        """Those whose kernels come from CuPy's own cache."""
        self._usual_cache: type[Any] = object
        self._lock = threading.RLock()
        self._eager = False
        self._module: Any = None
        self._original: Callable[..., Any] | None = None
        self._keys: KeyMaker | None = None
        self.kernels: dict[str, CudaKernel] = {}
        """Every kernel that was asked for, by its id."""
        self._looked_up: set[str] = set()
        self._missing = 0
        """How many of these the store had not, as far as they were counted."""
        _seams.add(self)

    # Installing

    @property
    def installed(self) -> bool:
        """Whether CuPy asks this seam."""
        return self._original is not None

    def install(self, module: Any) -> None:
        """Puts the seam into `cupy.cuda.compiler`; raises `UnsupportedCuPy`."""
        import cupy

        versions.require_supported(cupy, module)
        self._module, self._keys = module, KeyMaker(module)
        self._pool = CompilePool(module, self._share)
        if not self.installed:
            fix_fusion_order()
        self._original = module._compile_module_with_cache
        self._usual_cache = type(module._kernel_cache_backend)
        module._compile_module_with_cache = self._compile_module_with_cache

    def uninstall(self) -> None:
        """Takes it out. Functions that CuPy has been given stay steered."""
        if self._original is not None:
            self._module._compile_module_with_cache = self._original
            self._original = None
        if self._pool is not None:
            self._pool.close()

    # What is asked of it as a whole

    @property
    def eager(self) -> bool:
        """Whether kernels are compiled where they are asked for, though launches are dropped."""
        return self._eager

    @eager.setter
    def eager(self, value: bool) -> None:
        self._eager = value
        for device in list(self._devices.values()):
            device.eager = value
        republish()  # so that functions that were reached before look again

    def loaders(self) -> list[QueueingLoader]:
        """Those of all devices that were used, also of kernels that CuPy's own cache keeps."""
        used = [*self._devices.values(), *self._cached_devices.values()]
        return [device.loader for device in used]

    @contextmanager
    def another_store(self, store: ArtifactStore) -> Iterator[None]:
        """Kernels come from `store`, and are kept there, for the length of a block.

        What was queued before waits for the end of it; what is queued in it is compiled in it.
        """
        before, devices, claims = self._store, self._devices, self._claims
        loaders = {number: device.loader for number, device in devices.items()}
        self._store, self._claims = store, None
        for device in devices.values():
            device.loader = self._new_loader(device.number)
        self.begin_generation()
        try:
            yield
            self.compile_queued()
        finally:
            self.abandon_queued()
            self._store, self._claims = before, claims
            for number, device in devices.items():
                device.loader = loaders.get(number) or self._new_loader(number)
            self.begin_generation()

    def forget_memos(self) -> None:
        """Has CuPy ask again for what it has kept."""
        if self._original is not None:
            import cupy

            cupy.clear_memo()

    def _start_anew_in_child(self) -> None:
        """After a fork: nobody will compile what the child queues, so it compiles at once."""
        self._lock = threading.RLock()
        if self.installed and self._store is not None:
            self.eager = True

    # Kernels of an earlier run

    def restore(self, id: str, kernel: CudaKernel) -> bool:
        """Queues a kernel that an earlier run left, on a device that it was meant for.

        Says whether it did: one that was asked for under another compiler is of no use now.
        """
        if self._keys is None or not self._keys.is_current(kernel.request, kernel.key.parts):
            return False
        for number in range(self._device_count()):
            device = self._device(number)
            if self._arch_of(number) == kernel.request.arch:
                self.kernels.setdefault(id, kernel)
                device.loader.enqueue(id, kernel)
                return True
        return False

    def queue_for_other_architectures(self, without: Collection[str] = ()) -> None:
        """Queues each kernel, but for some, for every other architecture that there is a device of.

        Code that looks at its device may ask for another kernel there; what it asks for here is
        the best that can be known without running on each.
        """
        devices = {self._arch_of(number): number for number in range(self._device_count())}
        for id, kernel in list(self.kernels.items()):
            if id in without:
                continue
            for arch in [arch for arch in devices if arch != kernel.request.arch]:
                if kernel.key.parts:  # not one of CuPy's own cache
                    self._queue_elsewhere(kernel, arch, devices[arch])

    def _queue_elsewhere(self, kernel: CudaKernel, arch: str, number: int) -> None:
        assert self._keys is not None
        request = replace(kernel.request, arch=arch)
        key = self._keys.key(request)
        if key.id not in self.kernels:
            self.kernels[key.id] = other = CudaKernel(request, key)
            self._device(number).loader.enqueue(key.id, other)

    def _device_count(self) -> int:
        from cupy.cuda import runtime

        return int(runtime.getDeviceCount())

    def _arch_of(self, number: int) -> str:
        from cupy.cuda import Device

        with Device(number):
            return str(self._module._get_arch())

    # One kernel

    def _compile_module_with_cache(
        self,
        source: str,
        options: tuple[str, ...] = (),
        *,
        arch: str | None = None,
        extra_source: str | None = None,
        backend: str = "nvrtc",
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        log_stream: Any = None,
        jitify: bool = False,
        to_ltoir: bool = False,
    ) -> Any:
        """In the place of CuPy's function of this name."""
        __tracebackhide__ = True
        from gpurt_core.adapters.cupy.functions import SteeredModule

        assert self._original is not None
        call = partial(
            self._original,
            source,
            options,
            arch=arch,
            extra_source=extra_source,
            backend=backend,
            enable_cooperative_groups=enable_cooperative_groups,
            name_expressions=name_expressions,
            log_stream=log_stream,
            jitify=jitify,
            to_ltoir=to_ltoir,
        )
        nonsense = backend not in ("nvrtc", "nvcc") or (
            backend == "nvcc" and (jitify or name_expressions is not None)
        )
        if to_ltoir or nonsense:  # which CuPy refuses; intermediate code is no kernel
            return call()
        request = request_of(
            self._module, source, options, arch, backend, name_expressions or (), jitify
        )
        own_cache = self._store is None or self._another_cache_is_set()
        device = self._device(_current_device(), own_cache)
        id, kernel = self._identify(request, call, own_cache)
        module = SteeredModule(id, kernel, device)
        module.reach()
        if log_stream is not None and not own_cache:
            log_stream.write(module.load().artifact.log)
        return module

    def _another_cache_is_set(self) -> bool:
        """Whether the code under test has given CuPy a cache of another kind, to have it used."""
        cache = self._module._kernel_cache_backend
        inner = cache.inner if isinstance(cache, WatchedCache) else cache
        return type(inner) is not self._usual_cache

    def _identify(
        self, request: KernelRequest, call: Callable[[], Any], own_cache: bool
    ) -> tuple[str, CudaKernel]:
        if own_cache:
            key = KernelKey(request.digest, {}, HeaderSet())
        else:
            assert self._keys is not None
            key = self._keys.key(request)
        kernel = CudaKernel(request, key, call)
        self.kernels.setdefault(key.id, kernel)
        return key.id, kernel

    def _device(self, number: int, own_cache: bool = False) -> SteeredDevice:
        devices = self._cached_devices if own_cache else self._devices
        device = devices.get(number)
        if device is None:
            with self._lock:
                device = devices.get(number) or self._new_device(number, own_cache)
                devices[number] = device
        return device

    def _new_device(self, number: int, own_cache: bool) -> SteeredDevice:
        assert self._pool is not None
        if own_cache:
            cached = CachedLoader(self._module, self._settled)
            device = SteeredDevice(number, cached, None, self._tell_reached)
            device.eager = True
            return device
        loader = self._new_loader(number)
        device = SteeredDevice(number, loader, self._null_device, self._reached)
        device.eager = self._eager
        return device

    def _new_loader(self, number: int) -> QueueingLoader:
        assert self._pool is not None
        assert self._store is not None
        load = partial(self._load_module, number)
        return open_loader(
            CudaTarget(self._pool, self._store, load, self.label_of),
            claims=self._claims,
            parallelism=self._parallelism,
            share=self._share,
            on_settled=self._settled,
        )

    def _load_module(self, number: int, id: str, artifact: CudaArtifact) -> Any:
        from cupy.cuda import Device, function

        module = function.Module()
        try:
            with Device(number):
                module.load(artifact.image)
        except Exception as error:
            self._observer.unusable(id, self.label_of(id), f"the device refuses it: {error}")
            raise
        for name in self._devices[number].expected_functions.pop(id, ()):
            if not artifact.defines(artifact.names.get(name, name)):
                label = self.label_of(id)
                self._observer.unusable(id, label, f"{label} has no function named {name!r}")
        return module

    def label_of(self, id: str) -> str:
        """What people call a kernel."""
        kernel = self.kernels.get(id)
        return "a kernel" if kernel is None else kernel.label

    def _seconds_of(self, event: KernelEvent) -> float:
        """Without the time that it waited for a process, or for another one's claim."""
        assert self._pool is not None
        if event.outcome is KernelOutcome.LOADED:
            return 0.0
        return self._pool.seconds.get(str(event.id), event.seconds)

    # What it tells

    def _tell_reached(self, id: str, kernel: CudaKernel) -> None:
        self._observer.reached(id, kernel.label)

    def _reached(self, id: str, kernel: CudaKernel) -> None:
        """Has processes started as soon as there is enough to compile for them."""
        self._tell_reached(id, kernel)
        if id in self._looked_up:
            return
        self._looked_up.add(id)
        assert self._store is not None
        assert self._pool is not None
        if self._missing < WORTH_STARTING and self._store.artifact(id) is None:
            self._missing += 1
            if self._missing == WORTH_STARTING:
                self._pool.start(kernel)

    def _settled(self, event: KernelEvent) -> None:
        kernel = self.kernels[str(event.id)]
        self._observer.settled(
            KernelReport(
                id=str(event.id),
                label=kernel.label,
                arch=kernel.request.arch,
                outcome=event.outcome,
                seconds=self._seconds_of(event),
                log=None if event.error is None else event.error.log,
                parts=kernel.key.parts,
                tried_by=event.tried_by,
            )
        )


def _current_device() -> int:
    from cupy_backends.cuda.api import runtime

    return int(runtime.getDevice())


_seams: WeakSet[CupySeam] = WeakSet()


def _after_fork_in_child() -> None:
    for seam in list(_seams):
        seam._start_anew_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
