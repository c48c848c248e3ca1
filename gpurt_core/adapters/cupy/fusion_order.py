"""Keeps the source of fused kernels the same in every process.

CuPy joins the preambles of a fused kernel from a set of texts, whose order depends on the seed that
Python hashes texts with: another source in each process, and so another kernel. Texts whose hash is
fixed have one order.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gpurt_core.adapters.cupy.early import when_imported


class FixedText(str):
    """A text that hashes the same in every process."""

    __slots__ = ()

    def __hash__(self) -> int:
        return zlib.crc32(self.encode("utf-8", "surrogatepass"))


def fix_fusion_order() -> None:
    """Has CuPy use such texts, now or once it is imported. Does nothing to a CuPy that has no such
    sets any more."""
    when_imported("cupy._core.fusion", _fix_history)
    when_imported("cupy._core._fusion_op", _fix_operations)


def _fix_history(module: ModuleType) -> None:
    history = getattr(module, "_FusionHistory", None)
    if history is not None and hasattr(history, "_add_preamble"):
        history._add_preamble = _add_preamble


def _fix_operations(module: ModuleType) -> None:
    for name in ("_ElementwiseTraceOp", "_ReductionTraceOp"):
        operation = getattr(module, name, None)
        if operation is not None and hasattr(operation, "emit_preamble_codes"):
            operation.emit_preamble_codes = _fixed(operation.emit_preamble_codes)


def _add_preamble(history: Any, preamble: str) -> None:
    history.preamble_set.add(FixedText(preamble))


def _fixed(original: Callable[..., Any]) -> Callable[..., Any]:
    def emit_preamble_codes(self: Any) -> list[FixedText]:
        return [FixedText(text) for text in original(self)]

    return emit_preamble_codes
