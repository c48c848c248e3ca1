"""Reading PTX, as far as its names go: it is not compiled here."""

from __future__ import annotations

import re

from gpurt_core.adapters.cupy.null_device.images import DamagedImage, Image, Kernel, Variable

_TARGET = re.compile(r"^\s*\.target\s+(?:sm|compute)_(\d+)", re.MULTILINE)
_VERSION = re.compile(r"^\s*\.version\s+\d+\.\d+", re.MULTILINE)
_ENTRY = re.compile(r"\.entry\s+([\w$%]+)")
_THREADS = re.compile(r"\.(?:maxntid|reqntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
_SHARED = re.compile(
    r"^\s*\.shared\s+(?:\.align\s+\d+\s+)?\.[a-z](\d+)\s+[\w$%]+((?:\[\d+\])*)", re.MULTILINE
)
_VARIABLE = re.compile(
    r"^\s*(?:\.visible\s+|\.weak\s+|\.common\s+)?\.(?:const|global)\s+"
    r"(?:\.attribute\([^)]*\)\s+)?(?:\.align\s+\d+\s+)?\.[a-z](\d+)\s+"
    r"([\w$%]+)((?:\[\d+\])*)(?:\s*=\s*([^;]*))?;",
    re.MULTILINE,
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST = re.compile(r"(?:[;}]|\.(?:address_size|target)\s[^\n]*)\s*\Z")
"""What complete PTX ends with: a body, a declaration, or its header."""
_REAL = re.compile(r"0[fd]([0-9a-fA-F]{8}|[0-9a-fA-F]{16})")

_ASSUMED_REGISTERS = 32
"""PTX has no registers before the driver compiles it; a middling figure, never 0."""


def looks_like_ptx(content: bytes) -> bool:
    """PTX is text that begins with its version, after comments."""
    head = content[:4096].lstrip()
    return head.startswith((b"//", b"/*", b".version")) and b".version" in content


def read_ptx(content: bytes) -> Image:
    """Names and figures of PTX text; raises `DamagedImage` for what is not complete."""
    text = _COMMENT.sub("", content.rstrip(b"\0").decode("utf-8", errors="replace"))
    target = _TARGET.search(text)
    if target is None or _VERSION.search(text) is None:
        raise DamagedImage("PTX without a target")
    if _LAST.search(text) is None or text.count("{") != text.count("}"):
        raise DamagedImage("PTX that is cut short")
    entries = list(_ENTRY.finditer(text))
    ends = [*(entry.start() for entry in entries[1:]), len(text)]
    kernels = {
        entry[1]: _kernel(entry[1], text[entry.end() : end])
        for entry, end in zip(entries, ends, strict=False)  # without entries there is an end
    }
    variables = {
        found[2]: Variable(_size(found[1], found[3]), _initial(int(found[1]) // 8, found[4] or ""))
        for found in _VARIABLE.finditer(text)
    }
    return Image(int(target[1]), True, kernels, variables)


def _kernel(name: str, body: str) -> Kernel:
    limit = 1024
    for found in _THREADS.finditer(body.partition("{")[0]):
        limit = min(limit, int(found[1]) * int(found[2] or 1) * int(found[3] or 1))
    shared = sum(_size(found[1], found[2]) for found in _SHARED.finditer(body))
    return Kernel(name, _ASSUMED_REGISTERS, shared_size=shared, max_threads=limit)


def _size(bits: str, dimensions: str) -> int:
    """Bytes of `.b8 name[2][32]`."""
    size = int(bits) // 8
    for count in re.findall(r"\[(\d+)\]", dimensions):
        size *= int(count)
    return size


def _initial(width: int, text: str) -> bytes:
    """The bytes of `{1, 0x2, -3}` in elements of `width` bytes; what trails is zero."""
    return b"".join(
        (_number(element) % (1 << 8 * width)).to_bytes(width, "little")
        for element in re.split(r"[\s,{}]+", text)
        if element
    )


def _number(element: str) -> int:
    """The bits of a number; 0 for an address, which is nobody's to know before loading."""
    real = _REAL.fullmatch(element)
    if real is not None:
        return int(real[1], 16)
    try:
        return int(element.rstrip("U"), 0)
    except ValueError:
        return 0
