"""``kernelprof schema``: the JSON Schemas of what ``--format json`` writes."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kernelprof.cli import output
from kernelprof.interface import reference

ORDER = 130


class Document(StrEnum):
    DIAGNOSIS = "diagnosis"
    COMPARISON = "comparison"
    GATE = "gate"
    HISTORY = "history"


def schema(
    document: Annotated[
        Document,
        typer.Argument(
            metavar="[DOCUMENT]",
            help="diagnosis: what `diagnose` writes. comparison: `compare`. gate: `gate`. "
            "history: `history`.",
        ),
    ] = Document.DIAGNOSIS,
) -> None:
    """Print the JSON Schema of what a command writes with `--format json`."""
    output.write_text(reference.schema(document.value))
