"""Addresses of devices: `"opencl:0"` is the first device of the OpenCL backend.

`"opencl:0.1"` is a part of a device that is a device of its own: the second of the two halves of
`"opencl:0"`. `"opencl:0.1/4"` is the second of four equal parts. Parts and places count from 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from gpurt_core.errors import BadAddress

_FORM = re.compile(
    r"(?P<scheme>[a-z][a-z0-9_-]*):(?P<device>\d+)(?:\.(?P<part>\d+)(?:/(?P<parts>\d+))?)?"
)
_HALVES = 2


@dataclass(frozen=True, slots=True)
class Part:
    """One of the equal parts of a device."""

    number: int
    """Which one, from 0."""
    of: int = _HALVES
    """How many there are."""

    def __str__(self) -> str:
        return f"{self.number}" if self.of == _HALVES else f"{self.number}/{self.of}"


@dataclass(frozen=True, slots=True)
class DeviceAddress:
    """Where a device is."""

    scheme: str
    """The backend's, as `"opencl"`."""
    device: int
    """The device's place among the backend's devices."""
    part: Part | None = None
    """The part of it that is meant; `None` is the whole."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The address that a text is; raises `BadAddress`."""
        match = _FORM.fullmatch(text)
        if match is None:
            raise BadAddress(text, 'write it as "opencl:0", or "opencl:0.1" for half a device')
        part = None
        if match["part"] is not None:
            part = Part(int(match["part"]), int(match["parts"] or _HALVES))
            if part.of < 1 or part.number >= part.of:
                raise BadAddress(text, f"of {part.of} parts the last is {max(part.of - 1, 0)}")
        return cls(match["scheme"], int(match["device"]), part)

    def __str__(self) -> str:
        whole = f"{self.scheme}:{self.device}"
        return whole if self.part is None else f"{whole}.{self.part}"
