"""An OpenCL kernel's id: everything that changes what it compiles to, and nothing else.

Into it go the source, the options in order, the compiler and the devices that it compiles for, and
the headers by content. Left out are the names of its functions, and the folders of the headers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpurt_core.compilation import HeaderSet, find_headers
from gpurt_core.servers.opencl.build_options import (
    named_folders,
    read_build_options,
    with_folders,
)
from gpurt_core.servers.opencl.devices import compiler_identity

_FORMAT = "1"
"""Grows when what an id is made of changes: no entry of before is found then."""


@dataclass(frozen=True)
class ClKernel:
    """A program to build: what a compiler calls a kernel."""

    source: bytes
    options: tuple[str, ...]
    context: Any = field(repr=False)
    devices: tuple[Any, ...] = field(repr=False)
    label: str
    """What people call it."""
    headers: HeaderSet = field(repr=False)
    """The headers as they were when it was asked for."""
    folders: tuple[str, ...] = field(repr=False)
    """Where its options say that headers are, as absolute paths."""
    parts: Mapping[str, str] = field(repr=False)
    """What its id was made of: a digest or a short text each."""

    @property
    def id(self) -> str:
        """Its id."""
        return _digest(json.dumps(self.parts, sort_keys=True).encode())

    def option_bytes(self, folders: Sequence[str]) -> bytes:
        """Options as OpenCL takes them, with these folders in the place of its own."""
        as_given = tuple(folders) == named_folders(self.options)
        options = self.options if as_given else with_folders(self.options, folders)
        return " ".join(options).encode()


def make_kernel(
    source: str | bytes,
    options: Sequence[str],
    context: Any,
    devices: Sequence[Any],
    label: str,
) -> ClKernel:
    """A program as it is asked for now, with its headers as they are at this moment."""
    text = source.encode() if isinstance(source, str) else source
    working = os.getcwd()
    folders = tuple(os.path.join(working, folder) for folder in named_folders(options))
    headers = HeaderSet()
    if b"include" in text:
        searched = (working, *folders)
        headers = find_headers(text.decode("utf-8", "replace"), searched, _own_folders())
    parts = {
        "format": _FORMAT,
        "source": _digest(text),
        "options": json.dumps(_portable(options)),
        "compiler": json.dumps([compiler_identity(device) for device in devices]),
        "headers": _digest("\n".join(headers.findings).encode()),
        "pyopencl": _pyopencl_version(folders),
    }
    return ClKernel(text, tuple(options), context, tuple(devices), label, headers, folders, parts)


def _portable(options: Sequence[str]) -> list[str]:
    own = _own_folders()
    return [
        option.text if option.folder is None else f"-I {own.get(option.folder, 'user')}"
        for option in read_build_options(options)
    ]


def _own_folders() -> Mapping[str, str]:
    """The folder of PyOpenCL's own headers, for which its version stands."""
    import pyopencl

    return {str(Path(pyopencl.__file__).parent / "cl"): "pyopencl"}


def _pyopencl_version(folders: Sequence[str]) -> str:
    import pyopencl

    return str(pyopencl.VERSION_TEXT) if any(f in _own_folders() for f in folders) else ""


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=20).hexdigest()
