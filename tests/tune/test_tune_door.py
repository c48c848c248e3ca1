"""The door of the package: its exported names, and where its imports go."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import gpurt_core.tune
from gpurt_core.environment import Environment
from gpurt_core.servers import ServerStream
from gpurt_core.tune import ClaimGiver, PickStore, TunedStream

ALLOWED = (
    "gpurt_core.errors",
    "gpurt_core.execution",
    "gpurt_core.compilation",
    "gpurt_core.environment",
    "gpurt_core.tune",
)


def test_the_exported_names_are_sorted_and_all_that_there_is() -> None:
    names = vars(gpurt_core.tune).items()
    public = {name for name, value in names if not isinstance(value, ModuleType)}
    assert gpurt_core.tune.__all__ == sorted(n for n in public if not n.startswith("_"))


def test_imports_go_one_way() -> None:
    for module in Path(gpurt_core.tune.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                ours = name.startswith(("gpurt_core", "pytest", "cupy", "pyopencl"))
                assert not ours or name.startswith(ALLOWED), f"{module.name}: {name}"


def test_an_environment_and_a_servers_stream_are_what_the_tuner_asks_for(
    environment: Environment,
) -> None:
    store: PickStore = environment  # checked by the types
    assert isinstance(store, ClaimGiver)

    def streams_fit(stream: ServerStream) -> TunedStream:
        return stream

    assert streams_fit.__annotations__ == {"stream": "ServerStream", "return": "TunedStream"}
