"""A kernel that waits to be compiled, as text: for the durable queue, and for other processes."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict

from gpurt_core.adapters.cupy.compiler import CudaKernel
from gpurt_core.adapters.cupy.keys import KernelKey
from gpurt_core.adapters.cupy.request import KernelRequest
from gpurt_core.compilation import HeaderSet


def encode_kernel(kernel: CudaKernel) -> str:
    """The kernel as JSON, with the headers that it was asked for with."""
    headers = kernel.key.headers
    contents = {path: base64.b64encode(text).decode() for path, text in headers.contents.items()}
    return json.dumps(
        {
            "request": asdict(kernel.request),
            "id": kernel.key.id,
            "parts": dict(kernel.key.parts),
            "findings": headers.findings,
            "headers": contents,
        }
    )


def decode_kernel(text: str) -> CudaKernel | None:
    """The kernel; `None` for text that was not written by this version."""
    try:
        content = json.loads(text)
        request = dict(content["request"])
        for name in ("options", "name_expressions"):
            request[name] = tuple(request[name])
        headers = {path: base64.b64decode(data) for path, data in content["headers"].items()}
        key = KernelKey(
            content["id"], content["parts"], HeaderSet(tuple(content["findings"]), headers)
        )
        return CudaKernel(KernelRequest(**request), key)
    except (ValueError, KeyError, TypeError):
        return None
