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
            help="The document to describe: diagnosis for `diagnose`, comparison for `compare`, "
            "gate for `gate`, history for `history`, optimization for `optimize`, fleet_run for "
            "`fleet run`, fleet_query for `fleet query`, fleet_status for `fleet status`.",
        ),
    ] = "diagnosis",
) -> None:
    """Print the JSON Schema of a command's output with `--format json`."""
    from kernelprof.interface import reference

    output.write_text(reference.schema(document))
