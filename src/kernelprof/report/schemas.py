"""The published JSON Schema of the corpus' score."""

from __future__ import annotations

from importlib import resources


def schema(document: str = "corpus") -> str:
    """The JSON Schema as it is published."""
    file = resources.files("kernelprof.report") / "schema" / f"{document}.v1.schema.json"
    return file.read_text(encoding="utf-8")
