"""Which headers of a source are worth keeping precompiled.

NVRTC keeps what stands before the first declaration of a source. CuPy's own generators put some
declarations first and large headers behind them: there the headers can be read ahead, because
nothing that precedes them changes what they mean. The images are the same bytes.

https://docs.nvidia.com/cuda/nvrtc/, sections "Precompiled Header" and "--pre-include"
"""

from __future__ import annotations

import re

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_INCLUDE = re.compile(r"#\s*include\s*[<\"]([^>\"\n]+)[>\"]")
_CUPYS = "cupy/"


def headers_to_keep(source: str) -> tuple[str, ...] | None:
    """The headers to read ahead of a source: none where all stand at its beginning anyway.

    `None`: nothing is worth keeping. Keeping costs more than it brings where other headers are read
    behind the first declaration.
    """
    lines = [line.strip() for line in _COMMENT.sub(" ", source).splitlines()]
    includes = [place for place, line in enumerate(lines) if _INCLUDE.match(line)]
    if not includes:
        return None
    before = [line for line in lines[: includes[-1] + 1] if line]
    directives = [line for line in before if line.startswith("#")]
    if len(directives) == len(before):
        return ()
    names = [match[1] for line in directives if (match := _INCLUDE.match(line))]
    if len(names) < len(directives) or not all(name.startswith(_CUPYS) for name in names):
        return None  # a macro may change what a header means
    return tuple(dict.fromkeys(names))
