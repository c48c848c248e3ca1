"""Compiling: a queue of kernels in front of one path that compiles and loads them."""

from gpurt_core.compilation.cpus import usable_cpus
from gpurt_core.compilation.events import KernelEvent
from gpurt_core.compilation.group import LoaderGroup, QueueingLoader
from gpurt_core.compilation.headers import HeaderSet, find_headers
from gpurt_core.compilation.loader import KernelLoader
from gpurt_core.compilation.sharing import ClaimSource, open_loader
from gpurt_core.compilation.target import (
    ArtifactCompiler,
    ArtifactStore,
    CompilationTarget,
    Found,
)
from gpurt_core.errors import CompilationError, LoadRefused

__all__ = [
    "ArtifactCompiler",
    "ArtifactStore",
    "ClaimSource",
    "CompilationError",
    "CompilationTarget",
    "Found",
    "HeaderSet",
    "KernelEvent",
    "KernelLoader",
    "LoadRefused",
    "LoaderGroup",
    "QueueingLoader",
    "find_headers",
    "open_loader",
    "usable_cpus",
]
