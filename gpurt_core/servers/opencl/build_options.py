"""Reading the options of an OpenCL compiler that name folders of headers.

`-I` comes with its folder as one option or two, and with quotes where it has spaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_FLAGS = ("-I", "/I")


@dataclass(frozen=True, slots=True)
class BuildOption:
    """One option, whether it was given as one string or two."""

    text: str
    """As it was given."""
    folder: str | None = None
    """The folder that it names."""


def read_build_options(options: Sequence[str]) -> Iterator[BuildOption]:
    """Each option, in order."""
    rest = iter(options)
    for option in rest:
        text = option.strip()
        if text in _FLAGS:
            folder = next(rest, "")
            yield BuildOption(f"{text} {folder}", _unquoted(folder))
        elif text.startswith(_FLAGS):
            yield BuildOption(text, _unquoted(text[2:].strip()))
        elif text:
            yield BuildOption(text)


def _unquoted(folder: str) -> str:
    return folder[1:-1] if len(folder) > 1 and folder[0] == folder[-1] == '"' else folder


def named_folders(options: Sequence[str]) -> tuple[str, ...]:
    """The folders that options name, in order, as they name them."""
    folders = (option.folder for option in read_build_options(options))
    return tuple(folder for folder in folders if folder is not None)


def with_folders(options: Sequence[str], folders: Sequence[str]) -> tuple[str, ...]:
    """The options with their folders replaced by these, in order."""
    left = iter(folders)
    return tuple(
        option.text if option.folder is None else f"-I {_quoted(next(left))}"
        for option in read_build_options(options)
    )


def _quoted(folder: str) -> str:
    return f'"{folder}"' if " " in folder else folder


def without_folders(options: Sequence[str]) -> tuple[str, ...]:
    """The options that name none."""
    return tuple(option.text for option in read_build_options(options) if option.folder is None)
