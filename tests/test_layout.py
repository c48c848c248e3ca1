"""Imports go one way, and doors export what they say."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = (
    ("gpurt_core.errors",),
    ("gpurt_core.execution",),
    ("gpurt_core.compilation", "gpurt_core.environment"),
    ("gpurt_core.tune",),
    ("gpurt_core.servers", "gpurt_core.adapters"),
    ("pytest_gpurt",),
)
"""From the one that imports nothing of ours to the one that nothing of ours imports."""

DOORS = [
    "gpurt_core.adapters.cupy.null_device",
    "gpurt_core.compilation",
    "gpurt_core.environment",
    "gpurt_core.execution",
    "gpurt_core.servers",
    "gpurt_core.tune",
]


def layer_of(module: str) -> int | None:
    for number, packages in enumerate(LAYERS):
        if any(module == package or module.startswith(package + ".") for package in packages):
            return number
    return None


def sources() -> Iterator[Path]:
    for package in ("gpurt_core", "pytest_gpurt"):
        yield from sorted((ROOT / package).rglob("*.py"))


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module


def test_imports_go_one_way() -> None:
    wrong = []
    for path in sources():
        mine = layer_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for imported in imports_of(path):
            theirs = layer_of(imported)
            if mine is not None and theirs is not None and theirs > mine:
                wrong.append(f"{path.relative_to(ROOT)} imports {imported}")
    assert wrong == []


@pytest.mark.parametrize("name", DOORS)
def test_a_door_exports_what_it_says_in_order(name: str) -> None:
    door = importlib.import_module(name)
    assert door.__all__ == sorted(door.__all__)
    assert all(hasattr(door, exported) for exported in door.__all__)


def test_nothing_is_pickled() -> None:
    assert [path for path in sources() if "pickle" in set(imports_of(path))] == []


def test_the_core_knows_no_pytest() -> None:
    core = [path for path in sources() if "gpurt_core" in path.parts]
    assert [
        path for path in core if any(i.startswith(("pytest", "_pytest")) for i in imports_of(path))
    ] == []
