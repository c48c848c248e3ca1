"""The checksum of what is kept: it covers what a thing is found by, and the thing itself.

A damaged index of SQLite leads to the wrong row, whole as that may be.
"""

from __future__ import annotations

import hashlib


def checksum(*parts: object) -> bytes:
    """Of texts, bytes and `None`, in this order; anything else is what damage has made of one."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        kind = b"b" if isinstance(part, bytes) else b"t" if isinstance(part, str) else b"o"
        content = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        digest.update(b"%s%d:" % (kind, len(content)))
        digest.update(content)
    return digest.digest()
