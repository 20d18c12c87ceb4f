"""Which files are sources; alone, because every command that takes a file asks."""

from __future__ import annotations

from typing import Final

SOURCES: Final = (".cu", ".cuh", ".h", ".hpp")
"""Suffixes of what is built and launched, or predicted, instead of read."""
