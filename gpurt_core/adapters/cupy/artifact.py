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
    parts: Mapping[str, str] = field(default_factory=dict)
    """What the kernel's id was made of, a digest or a short text each (see `keys`)."""

    def encode(self) -> bytes:
        """As bytes: a line of JSON in front of the image."""
        header = {"names": dict(self.names), "log": self.log, "parts": dict(self.parts)}
        return _MAGIC + json.dumps(header, separators=(",", ":")).encode() + b"\n" + self.image

    @classmethod
    def decode(cls, content: bytes) -> CudaArtifact | None:
        """The artifact; `None` for bytes of another kind."""
        if not content.startswith(_MAGIC):
            return None
        end = content.find(b"\n", len(_MAGIC))
        try:
            header = json.loads(content[len(_MAGIC) : end])
            return cls(content[end + 1 :], header["names"], header["log"], header["parts"])
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
