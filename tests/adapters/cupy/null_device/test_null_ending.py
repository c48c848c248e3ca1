"""The end of the interpreter: CuPy frees what is left when modules have been emptied."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Script = Callable[..., str]

MADE = """
from cupy.cuda import memory, stream, texture

class Kept:
    pass

kept = Kept()
kept.itself = kept
pool, capturing = memory.MemoryPool(), stream.Stream(non_blocking=True)
with capturing:
    capturing.begin_capture()
    graph = capturing.end_capture()
channels = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
array = texture.CUDAarray(channels, 16, 8)
resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
kept.all = [
    memory.Memory(256), pool, pool.malloc(100), memory.malloc_async(64),
    memory.malloc_managed(64), cupy.cuda.alloc_pinned_memory(64), cupy.cuda.Event(), capturing,
    graph, array, texture.TextureObject(resource, texture.TextureDescriptor((0, 0))),
    texture.SurfaceObject(resource), cupy.ndarray((3,), "float32"),
]
with cupy.cuda.Device(1):
    kept.all.append(memory.Memory(64))
"""


@pytest.mark.parametrize("place", ["sys", "__main__"])
def test_what_is_still_there_at_the_end_is_freed_without_a_crash(
    on_null_device: Script, place: str
) -> None:
    on_null_device(f"{MADE}\nimport {place}\n{place}.kept = kept\n", "sm_80", "sm_80")


def test_functions_that_run_at_exit_still_work_and_still_raise(on_null_device: Script) -> None:
    output = on_null_device(
        """
        import atexit
        def at_exit():
            print(cupy.asarray([1, 2]).get().tolist())
            with pytest.raises(runtime.CUDARuntimeError, match="InvalidValue"):
                runtime.free(17)
        atexit.register(at_exit)
        """
    )
    assert output == "[1, 2]\n"
