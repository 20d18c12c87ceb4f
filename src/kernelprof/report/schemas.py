"""The published JSON Schemas, without what renders the documents: reading one has to be cheap."""

from __future__ import annotations

from importlib import resources
from typing import Final

DOCUMENTS: Final = ("diagnosis", "comparison", "gate", "history")


def schema(document: str = "diagnosis") -> str:
    """The JSON Schema of a document, one of :data:`DOCUMENTS`."""
    file = resources.files("kernelprof.report") / "schema" / f"{document}.v1.schema.json"
    return file.read_text(encoding="utf-8")
