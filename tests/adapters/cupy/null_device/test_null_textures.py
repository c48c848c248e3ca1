"""CUDA arrays, textures and surfaces."""

from __future__ import annotations

from collections.abc import Callable

Script = Callable[..., str]

PARTS = """
from cupy.cuda import texture
FLOAT, UNSIGNED = runtime.cudaChannelFormatKindFloat, runtime.cudaChannelFormatKindUnsigned
def channels(bits=32, kind=FLOAT, count=1):
    widths = [bits] * count + [0] * (4 - count)
    return texture.ChannelFormatDescriptor(*widths, kind)
def described(array):
    return texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
def sampled(**settings):
    return texture.TextureDescriptor((runtime.cudaAddressModeClamp,) * 2, **settings)
"""


def test_what_is_copied_into_a_cuda_array_comes_back(on_null_device: Script) -> None:
    on_null_device(
        """
        stream = cupy.cuda.Stream()
        for count in (1, 2, 4):
            for shape in [(64,), (32, 64), (8, 32, 64)]:
                extent = shape[::-1]
                array = texture.CUDAarray(channels(count=count), *extent)
                values = numpy.random.rand(*shape[:-1], shape[-1] * count).astype("float32")
                for source in (values, cupy.asarray(values)):
                    for on in (None, stream):
                        array.copy_from(source, on)
                        back = numpy.zeros_like(values)
                        array.copy_to(back, on)
                        assert (back == values).all(), (count, shape)
                        on_device = cupy.zeros_like(cupy.asarray(values))
                        array.copy_to(on_device, on)
                        assert (on_device.get() == values).all()
        """,
        before=PARTS,
    )


def test_a_read_of_a_cuda_array_counts(on_null_device: Script) -> None:
    on_null_device(
        """
        for shape in [(64,), (32, 64), (8, 32, 64)]:
            array = texture.CUDAarray(channels(), *shape[::-1])
            before = device.reads.count
            array.copy_from(numpy.zeros(shape, "float32"))
            assert device.reads.count == before
            array.copy_to(numpy.zeros(shape, "float32"))
            assert device.reads.count == before + 1, shape
        """,
        before=PARTS,
    )


def test_descriptions_are_kept_and_come_back(on_null_device: Script) -> None:
    on_null_device(
        """
        array = texture.CUDAarray(channels(8, UNSIGNED, 4), 16, 8)
        description = array.desc.get_channel_format()
        assert [description[name] for name in "xyzw"] == [8] * 4
        read_as = runtime.cudaReadModeNormalizedFloat
        object = texture.TextureObject(described(array), sampled(readMode=read_as))
        assert object.ResDesc.get_resource_desc()["resType"] == runtime.cudaResourceTypeArray
        assert object.TexDesc.get_texture_desc()["readMode"] == read_as
        assert texture.SurfaceObject(described(array)).ptr
        """,
        before=PARTS,
    )


def test_textures_of_linear_and_pitched_memory_need_memory_of_the_device(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        memory = cupy.zeros(64 * 64, "float32")
        Resource, linear = texture.ResourceDescriptor, runtime.cudaResourceTypeLinear
        pitched = runtime.cudaResourceTypePitch2D
        fits = Resource(linear, arr=memory, chDesc=channels(), sizeInBytes=memory.nbytes)
        assert texture.TextureObject(fits, sampled()).ptr
        rows = dict(chDesc=channels(), width=64, height=64, pitchInBytes=256)
        assert texture.TextureObject(Resource(pitched, arr=memory, **rows), sampled()).ptr
        long = Resource(linear, arr=memory, chDesc=channels(), sizeInBytes=memory.nbytes + 512)
        with pytest.raises(runtime.CUDARuntimeError, match="InvalidValue"):
            texture.TextureObject(long, sampled())
        with pytest.raises(runtime.CUDARuntimeError, match="InvalidChannelDescriptor"):
            runtime.createSurfaceObject(fits.ptr)
        """,
        before=PARTS,
    )


def test_formats_and_settings_that_cuda_has_not_are_refused(on_null_device: Script) -> None:
    on_null_device(
        """
        Error = runtime.CUDARuntimeError
        for wrong in (channels(24), channels(32, FLOAT, 3), channels(8, FLOAT), channels(0)):
            with pytest.raises(Error, match="InvalidChannelDescriptor"):
                texture.CUDAarray(wrong, 16)
        with pytest.raises(Error, match="MemoryAllocation"):
            texture.CUDAarray(channels(), 1 << 20, 1 << 20)
        whole = described(texture.CUDAarray(channels(32, UNSIGNED), 16))
        with pytest.raises(Error, match="InvalidFilterSetting"):
            texture.TextureObject(whole, sampled(filterMode=runtime.cudaFilterModeLinear))
        with pytest.raises(Error, match="InvalidNormSetting"):
            texture.TextureObject(whole, sampled(readMode=runtime.cudaReadModeNormalizedFloat))
        for destroy in (runtime.destroyTextureObject, runtime.destroySurfaceObject):
            with pytest.raises(Error, match="InvalidValue"):
                destroy(12345)
        with pytest.raises(Error, match="InvalidResourceHandle"):
            runtime.freeArray(12345)
        """,
        before=PARTS,
    )


def test_kernels_of_every_kind_take_textures(on_null_device: Script) -> None:
    on_null_device(
        """
        array = texture.CUDAarray(channels(), 16, 8)
        object = texture.TextureObject(described(array), sampled())
        out = cupy.zeros((8, 16), "float32")
        source = '''extern "C" __global__ void copy(float* y, cudaTextureObject_t t) {
            y[threadIdx.x] = tex2D<float>(t, threadIdx.x, 0); }'''
        cupy.RawKernel(source, "copy")((1,), (16,), (out, object))
        take = cupy.ElementwiseKernel(
            "U t", "float32 y", "y = tex2D<float>(t, i, 0)", "take_from_texture")
        take(object, out)
        assert not out.get().any()
        """,
        before=PARTS,
    )
