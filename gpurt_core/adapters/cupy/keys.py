"""A kernel's id: everything that changes what it compiles to, and nothing else.

Into it go the source, the options in order, the name expressions, the compiler down to its build,
the architecture, the user's headers by content, and the versions of CuPy's and CUDA's own headers.
Left out are the folders where any of these are installed: an id is the same on every machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from gpurt_core.adapters.cupy.options import OptionKind, read_options, values_of
from gpurt_core.adapters.cupy.request import KernelRequest
from gpurt_core.compilation import HeaderSet, find_headers

_FORMAT = "1"
"""Grows when what an id is made of changes: no entry of before is found then."""

_NVCC_SETTINGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "CPATH")
"""Variables that change what nvcc makes."""

_CUDA_HEADERS = ("cuda.h", "cuda_runtime_api.h", "cuda_fp16.h", "cuda_bf16.h", "crt/host_defines.h")
"""Headers of CUDA whose contents stand for all of them: with each release these change."""


@dataclass(frozen=True)
class KernelKey:
    """A kernel's id, and what it was made of."""

    id: str
    parts: Mapping[str, str]
    """Name of each part to its text or digest: two keys of one kernel differ in these."""
    headers: HeaderSet
    """The user's headers as they are now."""

    @cached_property
    def parts_text(self) -> str:
        """The parts, as JSON in one line."""
        return json.dumps(dict(self.parts), sort_keys=True)


class KeyMaker:
    """Makes ids, for one process."""

    def __init__(self, compiler: Any) -> None:
        """`compiler` is the module `cupy.cuda.compiler`."""
        self._compiler = compiler
        self._known: dict[str, str] = {}
        self._builds: dict[tuple[str, tuple[int, int]], str] = {}
        self._keys: dict[tuple[KernelRequest, str], KernelKey] = {}

    def key(self, request: KernelRequest) -> KernelKey:
        """The key of a kernel, with its headers as they are at this moment."""
        build = self._build(request)
        kept = self._keys.get((request, build))
        if kept is not None:
            return kept
        headers = find_headers(
            request.source,
            values_of(OptionKind.FOLDER, request.options),
            self._owners(),
            values_of(OptionKind.HEADER, request.options),
        )
        parts = {
            "format": _FORMAT,
            "source": _digest(request.source),
            "options": json.dumps(self._portable_options(request)),
            "names": json.dumps(sorted(set(request.name_expressions))),
            "architecture": request.arch,
            "compiler": build,
            "kind": request.backend + " jitify" * request.jitify,
            "headers": _digest("\n".join(headers.findings)),
            "cupy": str(self._compiler._get_cupy_cache_key()),
            "cuda": self._cuda_headers(),
        }
        key = KernelKey(_digest(json.dumps(parts, sort_keys=True)), parts, headers)
        if not headers.findings:  # those that depend on files are made anew each time
            self._keys[request, build] = key
        return key

    def is_current(self, request: KernelRequest, parts: Mapping[str, str]) -> bool:
        """Whether a kernel that had these parts would be compiled by the same compiler now."""
        now = {"compiler": self._build(request), "cuda": self._cuda_headers(), "format": _FORMAT}
        now["cupy"] = str(self._compiler._get_cupy_cache_key())
        return all(parts.get(name) == text for name, text in now.items())

    def _portable_options(self, request: KernelRequest) -> list[str]:
        known = self._owners()
        texts = []
        for option in read_options(request.options):
            if option.kind is OptionKind.FOLDER:
                mark = next((known[f] for f in known if option.value.startswith(f)), "user")
                texts.append(f"-I {mark}")
            elif option.kind is OptionKind.HEADER:
                texts.append("-include")  # its content is among the headers
            else:
                texts.append(option.value)
        return texts

    def _owners(self) -> Mapping[str, str]:
        """The folders of CuPy's and CUDA's own headers."""
        if not self._known:
            from cuda.pathfinder import find_nvidia_header_directory
            from cupy._core import core

            self._known = {core._get_header_dir_path(): "cupy"}
            cuda = find_nvidia_header_directory("cudart")
            if cuda is not None:
                self._known[cuda] = "cuda"
        return self._known

    def _cuda_headers(self) -> str:
        folders = [folder for folder, mark in self._owners().items() if mark == "cuda"]
        return _content_of(folders[0]) if folders else ""

    def _build(self, request: KernelRequest) -> str:
        """The compiler, down to its build: asked for at each key, for a test may replace it."""
        version = self._compiler._get_nvrtc_version()
        if request.backend == "nvcc":
            return _nvcc_build()
        build = self._builds.get((request.arch, version))
        if build is None:
            lines = self._compiler._preprocess("", (), request.arch, "nvrtc")
            method = self._compiler._get_arch_for_options_for_nvrtc(request.arch)
            build = f"nvrtc {version[0]}.{version[1]} {method} {_digest(lines)}"
            self._builds[request.arch, version] = build
        return build


def _nvcc_build() -> str:
    from cupy.cuda import get_nvcc_path

    settings = {name: os.environ[name] for name in _NVCC_SETTINGS if name in os.environ}
    command = get_nvcc_path()
    version = _version_of(command) if command else "not installed"
    return f"nvcc {version} {json.dumps(settings)}"


@lru_cache(maxsize=8)
def _version_of(command: str) -> str:
    try:
        done = subprocess.run(
            [*command.split(), "--version"], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return _digest(done.stdout)


@lru_cache(maxsize=8)
def _content_of(folder: str) -> str:
    content = hashlib.blake2b(digest_size=16)
    for name in _CUDA_HEADERS:
        path = Path(folder, name)
        content.update(path.read_bytes() if path.is_file() else b"missing")
    return content.hexdigest()


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
