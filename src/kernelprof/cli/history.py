"""``kernelprof history``: time and verdict of each kernel over time."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path  # noqa: TC003 (typer reads the types)
from typing import TYPE_CHECKING, Annotated

import typer

from kernelprof.cli.compare import screen_of, write_page
from kernelprof.cli.output import check_place, warn, write_result
from kernelprof.cli.remarks import remark
from kernelprof.cli.report import check_name

if TYPE_CHECKING:
    from kernelprof.compare.history.rows import Wanted
    from kernelprof.model.history import History

MOST_ROWS = 200


class HistoryFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


def history(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="A folder of captures of `profile` or of baselines; with --git a baseline file.",
        ),
    ],
    *,
    git: Annotated[
        bool, typer.Option("--git", help="Read every committed version of a baseline file.")
    ] = False,
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", metavar="REGEX", help="Only kernels whose name matches."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="DATE", help="Only rows from 2026-11-21 on, say (UTC)."),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            metavar="N",
            min=0,
            help="The newest N rows of each kernel, with --git of the newest N commits; 0 for all.",
        ),
    ] = MOST_ROWS,
    output_format: Annotated[
        HistoryFormat, typer.Option("--format", help="How to write the history.")
    ] = HistoryFormat.TEXT,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write into this file.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write a page with charts."),
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Read everything anew and keep nothing.")
    ] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colour.")] = False,
) -> None:
    """Show how time and verdict of each kernel changed over captures or commits."""
    from kernelprof.compare.history.run import wanted

    if html is not None:
        check_name(html)
        check_place(html)
    if output is not None:
        check_place(output)
    found = _read(folder, wanted(kernel, since, limit), git=git, cached=not no_cache)
    if html is not None:
        from kernelprof.report.documents import history as documents
        from kernelprof.report.documents.comparison import Detail

        write_page(documents.document(found, Detail.FULL), html)
    text = _render(found, output_format, output, no_color=no_color)
    write_result(text, output)


def _read(place: Path, rows: Wanted, *, git: bool, cached: bool) -> History:
    from kernelprof.compare.history.run import history as read
    from kernelprof.report.progress import ProgressLine

    with ProgressLine(shown=False if git else None) as progress:
        return read(
            place,
            rows,
            git=git,
            cached=cached,
            progress=progress.say,
            warn=warn,
            note=lambda line: remark([line]),
        )


def _render(
    found: History, output_format: HistoryFormat, output: Path | None, *, no_color: bool
) -> str:
    if output_format is HistoryFormat.JSON:
        from kernelprof.report.writers import json

        return json.write(found)
    if output_format is HistoryFormat.CSV:
        remark(found.notes)
        from kernelprof.report.writers import csv

        return csv.write(found)
    from kernelprof.report.documents import history as documents
    from kernelprof.report.documents.comparison import Detail
    from kernelprof.report.writers import markdown, terminal

    if output_format is HistoryFormat.MARKDOWN:
        return markdown.write(documents.document(found, Detail.COMMENT), largest=None)
    return terminal.write(documents.document(found), screen_of(output, no_color=no_color))
