"""What a program printed, however long the paths in it are."""

from __future__ import annotations


def unwrapped(text: str) -> str:
    """A text in one line: where it was wrapped depends on the paths that it names."""
    return " ".join(text.split())
