"""What is kept of an OpenCL program: a binary for each device, and what the compiler said.

A driver may crash on bytes that are not what it made. So they come with a checksum, and damaged
bytes never reach it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

_MAGIC = b"gpurt-opencl-1\n"
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class ClArtifact:
    """A built program."""

    binaries: tuple[bytes, ...]
    """One for each device, in the order of the kernel's devices."""
    options: str = ""
    """What the compiler was told, but for folders: a driver may need it again when it loads."""
    log: str = ""
    """What the compiler said although it succeeded: its warnings."""

    def encode(self) -> bytes:
        """As bytes: a checksum, a line of JSON, and the binaries."""
        sizes = [len(binary) for binary in self.binaries]
        head = json.dumps({"sizes": sizes, "options": self.options, "log": self.log})
        content = head.encode() + b"\n" + b"".join(self.binaries)
        return _MAGIC + _checksum(content) + content

    @classmethod
    def decode(cls, content: bytes) -> ClArtifact | None:
        """The artifact; `None` for bytes of another kind, or damaged ones."""
        checksum = content[len(_MAGIC) : len(_MAGIC) + _DIGEST_BYTES]
        rest = content[len(_MAGIC) + _DIGEST_BYTES :]
        if not content.startswith(_MAGIC) or checksum != _checksum(rest):
            return None
        head, _, joined = rest.partition(b"\n")
        said = json.loads(head)
        binaries, start = [], 0
        for size in said["sizes"]:
            binaries.append(joined[start : start + size])
            start += size
        return cls(tuple(binaries), said["options"], said["log"])


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()
