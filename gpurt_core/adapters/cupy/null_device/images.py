"""What a module's image says about itself: its kernels, its variables, its architecture.

An image is a cubin, PTX text, or a fat binary that holds some of either. Only names and figures
are read; no code is looked at. What was read is kept per content.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field


class DamagedImage(ValueError):
    """The image is none of the known kinds, or broken."""


@dataclass(frozen=True)
class Kernel:
    """One kernel; figures in bytes, for one thread or one block as CUDA defines them."""

    name: str
    registers: int
    local_size: int = 0
    """Of one thread: its stack frame."""
    shared_size: int = 0
    """Of one block, static."""
    constant_size: int = 0
    """Of the module: what the user declared `__constant__`."""
    max_threads: int = 1024
    """Of one block, by `__launch_bounds__` where there is one."""


@dataclass(frozen=True)
class Variable:
    """A `__device__` or `__constant__` variable."""

    size: int
    content: bytes = b""
    """What it starts as; zero after its end."""


@dataclass(frozen=True)
class Image:
    """One module."""

    architecture: int
    """90 for sm_90."""
    is_ptx: bool
    kernels: Mapping[str, Kernel] = field(default_factory=dict)
    variables: Mapping[str, Variable] = field(default_factory=dict)
    opaque: bool = False
    """Compressed, so that its names are not known: every name is taken to be there."""

    def runs_on(self, architecture: int) -> bool:
        """PTX is compiled for any newer device; a cubin runs within its major version."""
        if self.is_ptx:
            return self.architecture <= architecture
        same_major = self.architecture // 10 == architecture // 10
        return same_major and self.architecture <= architecture


_ELF, _FAT = b"\x7fELF", b"\x50\xed\x55\xba"


@functools.lru_cache(maxsize=512)
def read_images(content: bytes) -> tuple[Image, ...]:
    """Every image in `content`: one, unless it is a fat binary. Raises `DamagedImage`."""
    from gpurt_core.adapters.cupy.null_device import cubin, fatbin, ptx

    if content.startswith(_ELF):
        return (cubin.read_cubin(content),)
    if content.startswith(_FAT):
        return fatbin.read_fatbin(content, read_images)
    if ptx.looks_like_ptx(content):
        return (ptx.read_ptx(content),)
    raise DamagedImage("neither a cubin, nor PTX, nor a fat binary")


def best_image(content: bytes, architecture: int) -> Image | None:
    """The image of `content` that a device would take: the newest cubin, else the newest PTX."""
    fitting = [image for image in read_images(content) if image.runs_on(architecture)]
    fitting.sort(key=lambda image: (not image.is_ptx, image.architecture))
    return fitting[-1] if fitting else None
