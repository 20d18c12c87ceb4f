"""``kernelprof history``: time and verdict of each kernel over time."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 (typer reads the types)
from typing import Annotated

import typer

from kernelprof.cli import options
from kernelprof.cli.output import Output, output_fields, print_remarks, warn
from kernelprof.cli.progress import progress_line

ORDER = 70


@options.list_after(no_color="no_cache")
def history(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="A folder of captures and baselines; with --git, a baseline file.",
        ),
    ],
    *,
    git: Annotated[
        bool, typer.Option("--git", help="Read the committed versions of a baseline file.")
    ] = False,
    kernel: options.KernelOption = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="DATE", help="Only rows since DATE (UTC), such as 2026-11-21."
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            metavar="N",
            min=0,
            help=(
                "Show the newest N rows of each kernel (with --git, from the newest N commits); 0 "
                "shows all."
            ),
        ),
    ] = 200,
    to: Annotated[
        Output,
        output_fields(
            "history",
            "Output format: text, brief, json, csv or markdown.",
            *("file", "html", "no_color"),
        ),
    ],
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor write the cache.")
    ] = False,
) -> None:
    """Show how the time and verdict of each kernel changed over captures or commits."""
    from kernelprof.interface.changes import history

    to.check()
    with progress_line(shown=False if git else None) as progress:
        rows = history(
            folder,
            git=git,
            kernel=kernel,
            since=since,
            limit=limit,
            cache=not no_cache,
            progress=progress.say,
            warn=warn,
            note=print_remarks,
        )
    if to.output_format == "csv":
        print_remarks(*rows.notes)
    to.write(rows)
