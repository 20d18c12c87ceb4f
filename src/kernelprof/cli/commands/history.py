"""``kernelprof history``: time and verdict of each kernel over time."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 (typer reads the types)
from typing import Annotated

import typer

from kernelprof.cli import options, output
from kernelprof.cli.progress import progress_line
from kernelprof.interface import changes

ORDER = 70


def history(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="A folder of captures in any form, and of baselines; with --git a baseline file.",
        ),
    ],
    *,
    git: Annotated[
        bool, typer.Option("--git", help="Read every committed version of a baseline file.")
    ] = False,
    kernel: options.KernelOption = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="DATE", help="Only rows from this day on, such as 2026-11-21 (UTC)."
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            metavar="N",
            min=0,
            help="The newest N rows of each kernel, with --git of the newest N commits; 0 for all.",
        ),
    ] = 200,
    output_format: Annotated[
        str,
        options.format_option(
            "history", "text, brief, json, csv or markdown: how to write the history."
        ),
    ] = "text",
    file: options.OutputOption = None,
    html: options.HtmlOption = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Read everything again and keep nothing.")
    ] = False,
    no_color: options.NoColorOption = False,
) -> None:
    """Show how time and verdict of each kernel changed over captures or commits."""
    output.check_places(file, html=html)
    with progress_line(shown=False if git else None) as progress:
        found = changes.history(
            folder,
            git=git,
            kernel=kernel,
            since=since,
            limit=limit,
            cache=not no_cache,
            progress=progress.say,
            warn=output.warn,
            note=lambda line: output.remark([line]),
        )
    if html is not None:
        output.write_page(found, html)
    if output_format == "csv":
        output.remark(found.notes)
    output.write_result(output.rendered(found, output_format, file, no_color=no_color), file)
