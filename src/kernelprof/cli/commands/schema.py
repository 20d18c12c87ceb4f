"""``kernelprof schema``: the JSON Schemas of what ``--format json`` writes."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from kernelprof.cli import output

ORDER = 130


def schema(
    document: Annotated[
        Literal[
            "diagnosis",
            "comparison",
            "gate",
            "history",
            "optimization",
            "fleet_run",
            "fleet_query",
            "fleet_status",
        ],
        typer.Argument(
            metavar="[DOCUMENT]",
            help="diagnosis: what `diagnose` writes. comparison: `compare`. gate: `gate`. "
            "history: `history`. optimization: `optimize`. fleet_run, fleet_query, fleet_status: "
            "`fleet run` and so on.",
        ),
    ] = "diagnosis",
) -> None:
    """Print the JSON Schema of what a command writes with `--format json`."""
    from kernelprof.interface import reference

    output.write_text(reference.schema(document))
