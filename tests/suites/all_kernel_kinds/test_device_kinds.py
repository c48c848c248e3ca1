"""Launches that go through other parts of CUDA: textures, graphs, streams, occupancy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
from cupy.cuda import runtime, texture

if TYPE_CHECKING:
    from pytest_gpurt.statistics import GpuStatistics

SAMPLED = """
extern "C" __global__ void sampled(float* out, cudaTextureObject_t image, int width) {
    out[threadIdx.x] = tex2D<float>(image, threadIdx.x % width, threadIdx.x / width);
}
"""


def texture_of(width: int, height: int) -> Any:
    """A texture of single-precision numbers."""
    channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = texture.CUDAarray(channel, width, height)
    array.copy_from(cupy.zeros((height, width), cupy.float32))
    resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    modes = (runtime.cudaAddressModeClamp, runtime.cudaAddressModeClamp)
    return texture.TextureObject(resource, texture.TextureDescriptor(modes))


def test_a_raw_kernel_that_samples_a_texture(gpu_stats: GpuStatistics) -> None:
    out = cupy.zeros(32, cupy.float32)
    cupy.RawKernel(SAMPLED, "sampled")((1,), (32,), (out, texture_of(8, 4), cupy.int32(8)))
    gpu_stats.expect(obtained=1)


def test_an_elementwise_kernel_that_samples_a_texture(gpu_stats: GpuStatistics) -> None:
    kernel = cupy.ElementwiseKernel(
        "U image, int32 width",
        "T out",
        "out = tex2D<T>(image, i % width, i / width)",
        "sampled_too",
    )
    out = cupy.zeros(32, cupy.float32)
    kernel(texture_of(8, 4), 8, out)
    gpu_stats.expect(obtained=1)


def test_launches_that_a_graph_records(gpu_stats: GpuStatistics) -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    values = cupy.zeros(32, cupy.float32)
    with stream:
        stream.begin_capture()
        values *= 2
        values += 1
        graph = stream.end_capture()
    graph.launch(stream)
    gpu_stats.expect(obtained=2)


def test_launches_on_two_streams(gpu_stats: GpuStatistics) -> None:
    for stream in (cupy.cuda.Stream(), cupy.cuda.Stream(non_blocking=True)):
        with stream:
            cupy.zeros(32, cupy.float32) - 1
        stream.synchronize()
    gpu_stats.expect(obtained=1)


def test_the_occupancy_of_a_kernel(gpu_stats: GpuStatistics) -> None:
    source = 'extern "C" __global__ void occupied(float* x) { x[0] = 1.0f; }'
    function = cupy.RawKernel(source, "occupied").kernel
    blocks = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(function.ptr, 128, 0)
    assert 1 <= blocks <= 32
    gpu_stats.expect(obtained=1)
