"""Reading the options of a CUDA compiler that name folders and headers.

NVRTC and nvcc take `-I folder` as one string or two, in a short and a long spelling; so for headers
that are included before the source. Everything else is passed on unread.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

_FOLDER_FLAGS = ("--include-path", "-I")
_HEADER_FLAGS = ("--pre-include", "-include")


class OptionKind(enum.Enum):
    """What an option says."""

    FOLDER = "folder"
    """A folder to look for headers in."""
    HEADER = "header"
    """A header that is included first."""
    OTHER = "other"
    """Anything else."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option, whether it was given as one string or two."""

    kind: OptionKind
    value: str
    """The folder, the header, or the whole option."""


def read_options(options: Sequence[str]) -> Iterator[Option]:
    """Each option, in order."""
    rest = iter(options)
    for option in rest:
        yield _read(option, rest)


def _read(option: str, rest: Iterator[str]) -> Option:
    for kind, flags in ((OptionKind.FOLDER, _FOLDER_FLAGS), (OptionKind.HEADER, _HEADER_FLAGS)):
        for flag in flags:
            if option == flag:
                return Option(kind, next(rest, ""))
            if option.startswith(flag + "="):
                return Option(kind, option[len(flag) + 1 :])
    if option.startswith("-I"):
        return Option(OptionKind.FOLDER, option[2:].strip())
    return Option(OptionKind.OTHER, option)


def values_of(kind: OptionKind, options: Sequence[str]) -> list[str]:
    """The folders, or the headers, that options name, in order."""
    return [option.value for option in read_options(options) if option.kind is kind]


def with_moved_paths(options: Sequence[str], moved: Callable[[str], str]) -> tuple[str, ...]:
    """The options with each folder and header where `moved` says that it is."""
    return _with_paths(options, moved, moved)


def _with_paths(
    options: Sequence[str], folder_at: Callable[[str], str], header_at: Callable[[str], str]
) -> tuple[str, ...]:
    texts = []
    for option in read_options(options):
        if option.kind is OptionKind.FOLDER:
            texts.append("-I" + folder_at(option.value))
        elif option.kind is OptionKind.HEADER:
            texts.append("-include=" + header_at(option.value))
        else:
            texts.append(option.value)
    return tuple(texts)


@lru_cache(maxsize=256)
def with_absolute_folders(options: tuple[str, ...], folder: str) -> tuple[str, ...]:
    """The options with each relative folder taken from `folder`: where the kernel was asked for.

    Options that name no relative folder stay exactly as they were written.
    """
    if all(_is_settled(option) for option in read_options(options)):
        return options
    return _with_paths(options, partial(os.path.join, folder), partial(_nearby, folder))


def _is_settled(option: Option) -> bool:
    return option.kind is OptionKind.OTHER or os.path.isabs(option.value)


def _nearby(folder: str, header: str) -> str:
    """A header that is included first is looked for in the working folder, then as any other."""
    path = os.path.join(folder, header)
    return path if os.path.isfile(path) else header
