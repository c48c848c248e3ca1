"""Device attributes and properties, both from one profile, so that they agree.

`cudaGetDeviceProperties` and `cudaDeviceGetAttribute` tell the same facts under two sets of names.
`_PAIRS` is the one table; what has only one of the two names is in it with None.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from gpurt_core.adapters.cupy.null_device.profiles import MIB, DeviceProfile

# Limits below are in the table of compute capabilities of the CUDA C++ Programming Guide, with the
# values of 7.5 and later, for which all of them are the same.
_TEXTURE_1D, _TEXTURE_2D, _TEXTURE_3D = 131072, (131072, 65536), (16384, 16384, 16384)
_LAYERED_1D, _LAYERED_2D = (32768, 2048), (32768, 32768, 2048)
_LINEAR_1D, _LINEAR_2D = 268435456, (131072, 65000, 2097120)
_CUBEMAP, _LAYERED_CUBEMAP = 32768, (32768, 2046)


def _pairs(profile: DeviceProfile, device: int) -> tuple[tuple[str | None, Any, Any], ...]:
    """(property, its value, the attributes that carry it: one name, or one per component)."""
    p = profile
    major, minor = p.compute_capability
    discrete = not p.integrated
    texture_3d_alt = (8192, 8192, 32768)
    return (
        ("totalGlobalMem", p.memory, None),
        ("sharedMemPerBlock", p.shared_per_block, "MaxSharedMemoryPerBlock"),
        ("regsPerBlock", p.registers_per_block, "MaxRegistersPerBlock"),
        ("warpSize", 32, "WarpSize"),
        ("maxThreadsPerBlock", 1024, "MaxThreadsPerBlock"),
        ("maxThreadsDim", (1024, 1024, 64), ("MaxBlockDimX", "MaxBlockDimY", "MaxBlockDimZ")),
        ("maxGridSize", (2**31 - 1, 65535, 65535), ("MaxGridDimX", "MaxGridDimY", "MaxGridDimZ")),
        ("clockRate", p.clock_khz, "ClockRate"),
        ("totalConstMem", 65536, "TotalConstantMemory"),
        ("major", major, "ComputeCapabilityMajor"),
        ("minor", minor, "ComputeCapabilityMinor"),
        ("textureAlignment", 512, "TextureAlignment"),
        ("texturePitchAlignment", 32, "TexturePitchAlignment"),
        ("multiProcessorCount", p.multiprocessors, "MultiProcessorCount"),
        ("kernelExecTimeoutEnabled", 0, "KernelExecTimeout"),
        ("integrated", int(p.integrated), "Integrated"),
        ("canMapHostMemory", 1, "CanMapHostMemory"),
        ("computeMode", 0, "ComputeMode"),
        ("concurrentKernels", 1, "ConcurrentKernels"),
        ("ECCEnabled", int(discrete), "EccEnabled"),
        ("pciBusID", pci_bus(device), "PciBusId"),
        ("pciDeviceID", 0, "PciDeviceId"),
        ("pciDomainID", 0, "PciDomainId"),
        ("tccDriver", 0, "TccDriver"),
        ("memoryClockRate", p.memory_clock_khz, "MemoryClockRate"),
        ("memoryBusWidth", p.memory_bus_bits, "GlobalMemoryBusWidth"),
        ("l2CacheSize", p.l2_cache, "L2CacheSize"),
        (
            "maxThreadsPerMultiProcessor",
            p.threads_per_multiprocessor,
            "MaxThreadsPerMultiProcessor",
        ),
        ("isMultiGpuBoard", 0, "IsMultiGpuBoard"),
        ("cooperativeLaunch", 1, "CooperativeLaunch"),
        ("cooperativeMultiDeviceLaunch", 0, "CooperativeMultiDeviceLaunch"),
        ("maxTexture1D", _TEXTURE_1D, "MaxTexture1DWidth"),
        ("maxTexture1DMipmap", 32768, "MaxTexture1DMipmappedWidth"),
        (
            "maxTexture1DLayered",
            _LAYERED_1D,
            ("MaxTexture1DLayeredWidth", "MaxTexture1DLayeredLayers"),
        ),
        ("maxTexture1DLinear", _LINEAR_1D, "MaxTexture1DLinearWidth"),
        ("maxTexture2D", _TEXTURE_2D, ("MaxTexture2DWidth", "MaxTexture2DHeight")),
        (
            "maxTexture2DMipmap",
            (32768, 32768),
            ("MaxTexture2DMipmappedWidth", "MaxTexture2DMipmappedHeight"),
        ),
        (
            "maxTexture2DLinear",
            _LINEAR_2D,
            ("MaxTexture2DLinearWidth", "MaxTexture2DLinearHeight", "MaxTexture2DLinearPitch"),
        ),
        (
            "maxTexture2DLayered",
            _LAYERED_2D,
            ("MaxTexture2DLayeredWidth", "MaxTexture2DLayeredHeight", "MaxTexture2DLayeredLayers"),
        ),
        (
            "maxTexture2DGather",
            (32768, 32768),
            ("MaxTexture2DGatherWidth", "MaxTexture2DGatherHeight"),
        ),
        (
            "maxTexture3D",
            _TEXTURE_3D,
            ("MaxTexture3DWidth", "MaxTexture3DHeight", "MaxTexture3DDepth"),
        ),
        (
            "maxTexture3DAlt",
            texture_3d_alt,
            ("MaxTexture3DWidthAlt", "MaxTexture3DHeightAlt", "MaxTexture3DDepthAlt"),
        ),
        ("maxTextureCubemap", _CUBEMAP, "MaxTextureCubemapWidth"),
        (
            "maxTextureCubemapLayered",
            _LAYERED_CUBEMAP,
            ("MaxTextureCubemapLayeredWidth", "MaxTextureCubemapLayeredLayers"),
        ),
        ("maxSurface1D", 32768, "MaxSurface1DWidth"),
        (
            "maxSurface1DLayered",
            _LAYERED_1D,
            ("MaxSurface1DLayeredWidth", "MaxSurface1DLayeredLayers"),
        ),
        ("maxSurface2D", _TEXTURE_2D, ("MaxSurface2DWidth", "MaxSurface2DHeight")),
        (
            "maxSurface2DLayered",
            _LAYERED_2D,
            ("MaxSurface2DLayeredWidth", "MaxSurface2DLayeredHeight", "MaxSurface2DLayeredLayers"),
        ),
        (
            "maxSurface3D",
            _TEXTURE_3D,
            ("MaxSurface3DWidth", "MaxSurface3DHeight", "MaxSurface3DDepth"),
        ),
        ("maxSurfaceCubemap", _CUBEMAP, "MaxSurfaceCubemapWidth"),
        (
            "maxSurfaceCubemapLayered",
            _LAYERED_CUBEMAP,
            ("MaxSurfaceCubemapLayeredWidth", "MaxSurfaceCubemapLayeredLayers"),
        ),
        ("surfaceAlignment", 512, "SurfaceAlignment"),
        ("asyncEngineCount", 2, "AsyncEngineCount"),
        ("unifiedAddressing", 1, "UnifiedAddressing"),
        ("streamPrioritiesSupported", 1, "StreamPrioritiesSupported"),
        ("globalL1CacheSupported", 1, "GlobalL1CacheSupported"),
        ("localL1CacheSupported", 1, "LocalL1CacheSupported"),
        (
            "sharedMemPerMultiprocessor",
            p.shared_per_multiprocessor,
            "MaxSharedMemoryPerMultiprocessor",
        ),
        (
            "regsPerMultiprocessor",
            p.registers_per_multiprocessor,
            "MaxRegistersPerMultiprocessor",
        ),
        ("managedMemory", 1, "ManagedMemory"),
        ("multiGpuBoardGroupID", device, "MultiGpuBoardGroupID"),
        ("hostNativeAtomicSupported", 0, "HostNativeAtomicSupported"),
        ("pageableMemoryAccess", int(p.integrated), "PageableMemoryAccess"),
        ("concurrentManagedAccess", 1, "ConcurrentManagedAccess"),
        ("computePreemptionSupported", 1, "ComputePreemptionSupported"),
        ("canUseHostPointerForRegisteredMem", 1, "CanUseHostPointerForRegisteredMem"),
        ("sharedMemPerBlockOptin", p.shared_per_block_optin, "MaxSharedMemoryPerBlockOptin"),
        (
            "pageableMemoryAccessUsesHostPageTables",
            0,
            "PageableMemoryAccessUsesHostPageTables",
        ),
        ("directManagedMemAccessFromHost", 0, "DirectManagedMemAccessFromHost"),
        ("uuid", device_uuid(profile, device), None),
        ("luid", b"", None),
        ("luidDeviceNodeMask", 0, None),
        ("persistingL2CacheMaxSize", p.l2_cache * 3 // 4 if major >= 8 else 0, None),
        ("maxBlocksPerMultiProcessor", p.blocks_per_multiprocessor, "MaxBlocksPerMultiprocessor"),
        ("accessPolicyMaxWindowSize", 128 * MIB if major >= 8 else 0, None),
        (
            "reservedSharedMemPerBlock",
            p.reserved_shared_per_block,
            "ReservedSharedMemoryPerBlock",
        ),
        ("deviceOverlap", 1, "GpuOverlap"),
        (
            "singleToDoublePrecisionPerfRatio",
            p.single_to_double,
            "SingleToDoublePrecisionPerfRatio",
        ),
        (None, 2**31 - 1, "MaxPitch"),
        (None, 0, "Reserved92"),
        (None, 0, "Reserved93"),
        (None, 0, "Reserved94"),
        (None, 0, "CanFlushRemoteWrites"),
        (None, 1, "HostRegisterSupported"),
        (None, 1, "SparseCudaArraySupported"),
        (None, 1, "HostRegisterReadOnlySupported"),
        (None, 0, "MaxTimelineSemaphoreInteropSupported"),
        (None, 1, "MemoryPoolsSupported"),
        (None, 0, "GPUDirectRDMASupported"),
        (None, 0, "GPUDirectRDMAFlushWritesOptions"),
        (None, 0, "GPUDirectRDMAWritesOrdering"),
        (None, 1, "MemoryPoolSupportedHandleTypes"),
    )


def pci_bus(device: int) -> int:
    """Every device sits on a bus of its own; 0 is the host's."""
    return device + 1


def pci_bus_id(device: int) -> str:
    """As `cudaDeviceGetPCIBusId` spells it."""
    return f"0000:{pci_bus(device):02X}:00.0"


def device_uuid(profile: DeviceProfile, device: int) -> bytes:
    """16 bytes, the same in every process; without a zero, at which CuPy would cut them."""
    digest = hashlib.sha256(b"%s %d" % (profile.name, device)).digest()[:16]
    return digest.replace(b"\0", b"\1")


def properties(profile: DeviceProfile, device: int) -> dict[str, Any]:
    """What `getDeviceProperties` returns."""
    named = {name: value for name, value, _ in _pairs(profile, device) if name is not None}
    return {"name": profile.name, **named}


def attributes(profile: DeviceProfile, device: int, runtime: ModuleType) -> Mapping[int, int]:
    """What `deviceGetAttribute` answers, by the numbers that this CuPy gives the attributes."""
    by_name: dict[str, int] = {}
    for _, value, names in _pairs(profile, device):
        if isinstance(names, str):
            by_name[names] = value
        elif names is not None:
            by_name.update(zip(names, value, strict=True))
    numbers = {
        name.removeprefix("cudaDevAttr"): number
        for name, number in vars(runtime).items()
        if name.startswith("cudaDevAttr")
    }
    # CuPy keeps the numbers of these two to itself: cudaDevAttrComputeCapability…
    numbers.update(ComputeCapabilityMajor=75, ComputeCapabilityMinor=76)
    return {numbers[name]: value for name, value in by_name.items() if name in numbers}
