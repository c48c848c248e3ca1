"""Runs at the start of every interpreter that has this folder on PYTHONPATH.

It prepares the null devices that GPURT_NULL_DEVICE asks for, and the sharing that GPURT_CHILDREN
asks for, which costs little until something imports CuPy, and then runs the `sitecustomize` that
this one hides.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _prepare(architectures: str, parent: str) -> None:
    names = [name.strip() for name in architectures.split(",") if name.strip()]
    if not names and not parent:
        return
    if importlib.util.find_spec("gpurt_core") is None:  # a checkout that is not installed
        sys.path.append(os.path.normpath(os.path.join(_HERE, *[os.pardir] * 4)))
    from gpurt_core.adapters.cupy import early

    if names:
        early.EarlyInstaller(names)
    if parent:
        early.when_imported(early.SEAM_MODULE, early.join_parent)


def _run_hidden() -> None:
    others = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_prepare(os.environ.get("GPURT_NULL_DEVICE", ""), os.environ.get("GPURT_CHILDREN", ""))
_run_hidden()
