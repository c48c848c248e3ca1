"""What the environment keeps of a kernel: the image, and the little that must come with it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_MAGIC = b"gpurt-cuda-1\n"


@dataclass(frozen=True, slots=True)
class CudaArtifact:
    """A compiled module."""

    image: bytes
    """A cubin, or PTX where CuPy was told to make PTX."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Name expressions, and what the compiler calls each."""
    log: str = ""
    """What the compiler said although it succeeded: its warnings."""
    parts_text: str = "{}"
    """`parts`, as JSON."""

    @property
    def parts(self) -> Mapping[str, str]:
        """What the kernel's id was made of, a digest or a short text each (see `keys`)."""
        parts: dict[str, str] = json.loads(self.parts_text)
        return parts

    def encode(self) -> bytes:
        """As bytes: two lines of JSON in front of the image."""
        said = {"names": dict(self.names), "log": self.log} if self.names or self.log else {}
        head = f"{json.dumps(said, separators=(',', ':'))}\n{self.parts_text}\n"
        return _MAGIC + head.encode() + self.image

    @classmethod
    def decode(cls, content: bytes) -> CudaArtifact | None:
        """The artifact; `None` for bytes of another kind."""
        if not content.startswith(_MAGIC):
            return None
        first = content.find(b"\n", len(_MAGIC))
        second = content.find(b"\n", first + 1)
        said, parts = content[len(_MAGIC) : first], content[first + 1 : second]
        image = content[second + 1 :]
        if said == b"{}":  # most kernels
            return cls(image, parts_text=parts.decode())
        try:
            read = json.loads(said)
            return cls(image, read["names"], read["log"], parts.decode())
        except (ValueError, KeyError, TypeError):
            return None

    def defines(self, function: str) -> bool:
        """Whether the image has a kernel of this name: each has a section, or an entry."""
        if self.image.startswith(b"\x7fELF"):
            return b".text." + function.encode() + b"\0" in self.image
        return (
            re.search(rb"\.entry\s+" + re.escape(function.encode()) + rb"\b", self.image)
            is not None
        )
