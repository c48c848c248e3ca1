"""The door of the package: its exported names, and where its imports go."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import pytest

import gpurt_core.compilation
import gpurt_core.execution

ALLOWED = {
    "execution": ("gpurt_core.errors", "gpurt_core.execution"),
    "compilation": ("gpurt_core.errors", "gpurt_core.execution", "gpurt_core.compilation"),
}


@pytest.mark.parametrize("package", [gpurt_core.execution, gpurt_core.compilation])
def test_the_exported_names_are_sorted_and_all_that_there_is(package: ModuleType) -> None:
    public = {name for name, value in vars(package).items() if not isinstance(value, ModuleType)}
    assert package.__all__ == sorted(name for name in public if not name.startswith("_"))


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_imports_go_one_way(package: str) -> None:
    folder = Path(gpurt_core.execution.__file__).parents[1] / package
    for module in folder.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                ours = name.startswith(("gpurt_core", "pytest", "cupy"))
                assert not ours or name.startswith(ALLOWED[package]), f"{module.name}: {name}"
