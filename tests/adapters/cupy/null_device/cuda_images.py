"""Images of modules for scripts: compiled by NVRTC, which needs no device."""

from __future__ import annotations

IMAGES = r'''
import struct
from cupy_backends.cuda.libs import nvrtc

SOURCE = r"""
__constant__ int table[4] = {1, -2, 3, 4};
__constant__ float scale;
__device__ double state[100];
__device__ int counter = 7;
__device__ int helper(int x) { return x * 3; }

extern "C" __global__ void plain(float* x) {
    x[threadIdx.x] = table[threadIdx.x & 3] * scale + counter + (float)state[0];
}

extern "C" __global__ void __launch_bounds__(256) bounded(float* x) {
    __shared__ float tile[512];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[0] = tile[255 - threadIdx.x];
}

extern "C" __global__ void framed(int* x) {
    volatile int local[600];
    for (int i = 0; i < 600; ++i) local[i] = x[i];
    x[0] = local[x[1] % 600] + helper(x[2]);
}
"""

def compiled(architecture, source=SOURCE):
    """A cubin for `sm_80`, PTX for `compute_80`."""
    program = nvrtc.createProgram(source, "images.cu", (), ())
    nvrtc.compileProgram(program, (f"--gpu-architecture={architecture}",))
    if architecture.startswith("sm_"):
        return nvrtc.getCUBIN(program)
    return nvrtc.getPTX(program)

def fat_binary(*images, flags=0x11):
    """As `fatbinary` writes one: (kind, architecture, content) each; kind 1 is PTX, 2 a cubin."""
    body = b""
    for kind, architecture, content in images:
        header = struct.pack(
            "<HHIQIIHHIII", kind, 0x101, 64, len(content), 0, 0, 0, 7, architecture, 0, 0
        )
        body += header + struct.pack("<QQ", flags, 0) + bytes(64 - len(header) - 16) + content
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body
'''
