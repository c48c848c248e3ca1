"""PoCL, the OpenCL of any CPU: its folder, and why it shows no device.

PoCL keeps kernels in a folder of its own and needs a folder even when it keeps none. It reads its
settings once, when the first platform is asked for. So before that it is given a private folder,
which is removed at exit, and told to keep nothing: what is kept, and counted, is kept by us. A
folder that a user has set stays, unless PoCL is to keep nothing: then two processes in one folder
remove each other's files and crash, and each gets a private one in there.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

PLATFORM = "Portable Computing Language"
"""What PoCL calls itself."""

_FOLDER = "POCL_CACHE_DIR"
_KEEPING = "POCL_KERNEL_CACHE"
_PREFIX = "gpurt-pocl-"
"""How our folders are called: a child takes another one than its parent was given."""


def settle(environ: MutableMapping[str, str] | None = None) -> None:
    """Settles where PoCL works, and that it keeps nothing, unless the user has."""
    environ = os.environ if environ is None else environ
    chosen = environ.get(_FOLDER)
    if chosen in _made or (chosen is not None and environ.get(_KEEPING) != "0"):
        return
    try:
        folder = _private_folder(chosen)
    except OSError:  # then it works where it would: `why_no_device` says what is wrong
        return
    _made.add(folder)
    atexit.register(_remove, folder, os.getpid())
    environ[_FOLDER] = folder
    environ.setdefault(_KEEPING, "0")


_made: set[str] = set()


def _private_folder(chosen: str | None) -> str:
    if chosen is None or Path(chosen).name.startswith(_PREFIX):
        return tempfile.mkdtemp(prefix=_PREFIX)
    os.makedirs(chosen, exist_ok=True)
    return tempfile.mkdtemp(prefix=_PREFIX, dir=chosen)


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def why_no_device(environ: MutableMapping[str, str] | None = None) -> str:
    """Why PoCL, which is there, shows no device; what to do about it."""
    environ = os.environ if environ is None else environ
    name, folder = _working_folder(environ)
    if not can_be_written(folder):
        return f"PoCL cannot write to {folder} ({name}): make it writable, or unset {name}"
    chosen = environ.get("POCL_DEVICES")
    if chosen is not None:
        return f"PoCL shows none of the devices in POCL_DEVICES={chosen}: unset it"
    return "PoCL shows no device: set POCL_DEBUG=all to see why"


def _working_folder(environ: MutableMapping[str, str]) -> tuple[str, Path]:
    if _FOLDER in environ:
        return _FOLDER, Path(environ[_FOLDER])
    if "XDG_CACHE_HOME" in environ:
        return "XDG_CACHE_HOME", Path(environ["XDG_CACHE_HOME"], "pocl")
    return "HOME", Path(environ.get("HOME", "/"), ".cache", "pocl")


def can_be_written(folder: Path) -> bool:
    """Whether it, or the nearest folder above that exists, can be written to."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            return True
    except OSError:
        return False
