"""Attributes that are replaced while the seam is installed."""

from __future__ import annotations

from typing import Any


class Patches:
    """Replacements, taken back in reverse."""

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any]] = []

    def replace(self, owner: Any, name: str, ours: Any) -> Any:
        """Puts `ours` in the place of an attribute; what was there."""
        original = vars(owner)[name]
        setattr(owner, name, ours)
        self._done.append((owner, name, original, ours))
        return original

    def remove(self) -> None:
        """Puts back what was there, where ours still is."""
        while self._done:
            owner, name, original, ours = self._done.pop()
            if vars(owner).get(name) is ours:
                setattr(owner, name, original)
