"""Why the environment did not have a kernel: what is different from the nearest one that it has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

_WORDS = {
    "source": "its source has changed",
    "options": "its options have changed",
    "names": "it was asked for with other name expressions",
    "architecture": "it was compiled for another architecture",
    "compiler": "the compiler is another one",
    "kind": "it was compiled in another way",
    "headers": "a header that it includes has changed",
    "cupy": "CuPy's headers are others",
    "cuda": "CUDA's headers are others",
    "format": "it was kept by another version of pytest-gpurt",
}


def explain_missing(parts: Mapping[str, str], kept: Sequence[Mapping[str, str]]) -> str:
    """One line; `kept` holds the parts of the kernels of the same name that there are."""
    if not kept:
        return "the environment has nothing of this name"
    nearest = min(kept, key=lambda other: len(_differences(parts, other)))
    differences = _differences(parts, nearest)
    if not differences:
        return "the environment has it by now"
    return ", and ".join(_in_words(name, parts, nearest) for name in differences)


def _differences(parts: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    return [name for name in _WORDS if parts.get(name) != other.get(name)]


def _in_words(name: str, parts: Mapping[str, str], other: Mapping[str, str]) -> str:
    text = _WORDS[name]
    if name == "architecture":
        return f"{text}: sm_{other.get(name)}, not sm_{parts.get(name)}"
    if name == "options":
        return f"{text}: {_option_changes(parts.get(name, '[]'), other.get(name, '[]'))}"
    return text


def _option_changes(now: str, before: str) -> str:
    new, old = json.loads(now), json.loads(before)
    changes = [f"now {option}" for option in new if option not in old]
    changes += [f"no longer {option}" for option in old if option not in new]
    return ", ".join(changes) or "their order"
