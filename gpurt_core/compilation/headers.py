"""The headers that a kernel includes, by content and not by where they are installed.

The source is searched for `#include` lines, and so is each header of the user's that one of them
finds, in the order in which the compiler would look. Headers of CuPy and CUDA are not opened: their
versions stand for them. A header that is not there counts, too: when it appears, the kernel is
another one. Conditions are not evaluated: a header that is mentioned counts.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_INCLUDE = re.compile(
    r"^[ \t]*(?:\#|%:)[ \t]*include(?:_next)?\b[ \t]*"
    r'(?:"(?P<quoted>[^"\n]+)"|<(?P<angled>[^>\n]+)>|(?P<computed>\S[^\n]*))'
    r'|__has_include(?:_next)?[ \t]*\([ \t]*(?:"(?P<asked_quoted>[^"\n]+)"|<(?P<asked>[^>\n]+)>)',
    re.MULTILINE,
)
_MOST_FILES = 4096
"""How many files of include folders stand for a computed `#include`, which may name any of them."""


class Root(NamedTuple):
    """A folder in which the compiler looks."""

    path: str
    mark: str
    """`"user"`, or whose folder it is."""


class Include(NamedTuple):
    """An `#include` line."""

    name: str
    quoted: bool


class Mentions(NamedTuple):
    """What a text includes."""

    includes: tuple[Include, ...]
    computed: bool
    """Whether a macro names one of them."""


@dataclass(frozen=True)
class HeaderSet:
    """The user's headers behind one kernel."""

    findings: tuple[str, ...] = ()
    """One line per `#include`: what it found. These go into the kernel's id."""
    contents: Mapping[str, bytes] = field(default_factory=dict)
    """Path of each header of the user's, and what it held when the kernel was asked for."""

    def changed(self) -> bool:
        """Whether a header holds something else by now."""
        return any(_read(path) != content for path, content in self.contents.items())

    @contextmanager
    def as_they_were(self) -> Iterator[Callable[[str], str] | None]:
        """What tells where a folder or a header is to be looked for, so that a compiler sees the
        headers as they were when they were read; `None` where that is where they are."""
        if not self.contents or not self.changed():
            yield None
            return
        with tempfile.TemporaryDirectory(prefix="gpurt-headers-") as folder:
            for path, content in self.contents.items():
                copy = Path(folder + os.path.normpath(path))
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)

            def moved(path: str) -> str:
                there = folder + os.path.normpath(path)
                return there if os.path.exists(there) else path

            yield moved


def _mark(path: str, known: Mapping[str, str]) -> str:
    for folder, mark in known.items():
        if path == folder or path.startswith(folder + os.sep):
            return mark
    return "user"


def find_headers(
    source: str, folders: Sequence[str], known: Mapping[str, str], first: Sequence[str] = ()
) -> HeaderSet:
    """The user's headers behind a source.

    The compiler looks in `folders`, in order, and includes the headers in `first` before it.
    `known` maps folders to the mark of who owns them; what lies below one of them is theirs, too.
    """
    roots = [Root(folder, _mark(folder, known)) for folder in folders]
    if not first and all(root.mark != "user" for root in roots) and not _has_absolute(source):
        return HeaderSet()
    search = _Search(roots, known)
    for header in first:
        search.follow(Include(header, quoted=True), "", None)
    search.read(source.encode(), None)
    return HeaderSet(tuple(sorted(search.findings)), search.contents)


def _has_absolute(source: str) -> bool:
    return any(os.path.isabs(include.name) for include in mentions(source.encode()).includes)


class _Search:
    """Follows includes from header to header."""

    def __init__(self, roots: Sequence[Root], known: Mapping[str, str]) -> None:
        self._roots = roots
        self._known = known
        self.findings: set[str] = set()
        self.contents: dict[str, bytes] = {}

    def read(self, text: bytes, path: str | None) -> None:
        """Follows what `text`, of the header at `path`, includes."""
        found = mentions(text)
        name = _digest(text)
        for include in found.includes:
            self.follow(include, name, path)
        if found.computed:
            self._take_everything()

    def follow(self, include: Include, includer: str, path: str | None) -> None:
        """Notes what an include finds, and reads that if it is the user's."""
        mark, found = self._locate(include, path)
        content = None if found is None or mark != "user" else _read(found)
        what = mark if content is None else _digest(content)
        self.findings.add(f"{includer} {include.name} {what}")
        if content is not None and found is not None and found not in self.contents:
            self.contents[found] = content
            self.read(content, found)

    def _locate(self, include: Include, path: str | None) -> tuple[str, str | None]:
        if os.path.isabs(include.name):
            there = os.path.isfile(include.name)
            mark = _mark(include.name, self._known)
            return (mark, include.name) if there else ("missing", None)
        beside = [Root(os.path.dirname(path), "user")] if path and include.quoted else []
        for root in [*beside, *self._roots]:
            candidate = os.path.join(root.path, include.name)
            if os.path.isfile(candidate):
                return root.mark, candidate
        return "missing", None

    def _take_everything(self) -> None:
        for root in self._roots:
            if root.mark != "user":
                continue
            for path in _files_below(root.path):
                content = _read(path)
                if content is not None:
                    name = os.path.relpath(path, root.path)
                    self.findings.add(f"any {name} {_digest(content)}")
                    self.contents.setdefault(path, content)


def mentions(text: bytes) -> Mentions:
    """What a text includes, and asks for with `__has_include`."""
    return _mentions(text) if b"include" in text else Mentions((), False)


@lru_cache(maxsize=1024)
def _mentions(text: bytes) -> Mentions:
    joined = text.decode("utf-8", "replace").replace("\\\n", "")
    includes, computed = [], False
    for match in _INCLUDE.finditer(joined):
        quoted = match["quoted"] or match["asked_quoted"]
        angled = match["angled"] or match["asked"]
        if quoted or angled:
            includes.append(Include(quoted or angled, quoted is not None))
        else:
            computed = True
    return Mentions(tuple(dict.fromkeys(includes)), computed)


def _files_below(folder: str) -> list[str]:
    paths = sorted(
        os.path.join(where, name) for where, _folders, names in os.walk(folder) for name in names
    )
    return paths[:_MOST_FILES]


def _read(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
