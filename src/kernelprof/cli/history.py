"""``kernelprof history``: time and verdict of each kernel over time."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path  # noqa: TC003 (typer reads the types)
from typing import TYPE_CHECKING, Annotated

import typer

from kernelprof.cli import screen
from kernelprof.cli.output import check_place, warn, write_file, write_result
from kernelprof.cli.remarks import remark
from kernelprof.cli.report import check_name
from kernelprof.errors import InputError, UsageError

if TYPE_CHECKING:
    from kernelprof.compare.history.folder import Folder
    from kernelprof.compare.history.rows import Wanted
    from kernelprof.compare.history.store import Store
    from kernelprof.model.history import History

MOST_ROWS = 200
_MOST_WARNINGS = 10
_MOST_NAMES = 3


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
    if html is not None:
        check_name(html)
        check_place(html)
    if output is not None:
        check_place(output)
    wanted = _wanted(kernel, since, limit)
    found = _of_commits(folder, wanted, no_cache) if git else _of_folder(folder, wanted, no_cache)
    if not found.kernels:
        raise InputError(
            "no row is left",
            where=str(folder),
            hint="name another --kernel or --since",
        )
    if html is not None:
        from kernelprof.report.html.history import render_history_page

        write_file(render_history_page(found), html)
    text = _render(found, output_format, output, no_color=no_color)
    write_result(text, output)


def _wanted(kernel: str | None, since: str | None, limit: int) -> Wanted:
    from kernelprof.compare.history.moments import utc
    from kernelprof.compare.history.rows import Wanted

    try:
        pattern = None if kernel is None else re.compile(kernel)
    except re.error as error:
        raise UsageError(
            f"--kernel {kernel!r} is not a regular expression: {error}",
            hint="escape brackets of a kernel's name with a backslash",
        ) from error
    try:
        date = None if since is None else utc(since)
    except InputError as error:
        raise UsageError(f"--since: {error}", hint="write it as 2026-11-21") from error
    return Wanted(pattern, date, limit or None)


def _of_commits(file: Path, wanted: Wanted, no_cache: bool) -> History:
    from kernelprof.compare.history.commits import committed
    from kernelprof.compare.history.rows import build_history
    from kernelprof.model.history import Source

    if file.expanduser().is_dir():
        raise UsageError(
            "--git reads the versions of one file, and this is a folder",
            where=str(file),
            hint="name a baseline file, or leave --git out",
        )
    found = committed(file, wanted.limit)
    _tell_unread(found.unread)
    if not found.moments:
        raise InputError(
            f"none of the {len(found.unread)} committed versions is a baseline",
            where=str(file),
            hint="name a file that 'kernelprof baseline save' wrote",
        )
    with _store(file, no_cache) as store:
        return build_history(str(file), Source.GIT, found.moments, wanted, store, notes=found.notes)


def _of_folder(folder: Path, wanted: Wanted, no_cache: bool) -> History:
    from kernelprof.compare.history.folder import Folder
    from kernelprof.compare.history.rows import build_history
    from kernelprof.model.history import Source
    from kernelprof.report.progress import ProgressLine

    place = folder.expanduser()
    if not place.is_dir():
        raise InputError(
            "there is no such folder" if not place.exists() else "this is a file, not a folder",
            where=str(folder),
            hint="name a folder of captures or baselines; for the committed versions of a "
            "baseline file add --git",
        )
    looked = Folder(place.absolute())
    with _store(place, no_cache) as store:
        with ProgressLine() as progress:
            moments = looked.moments(store, progress.say)
        _tell_unread(looked.unread)
        _tell_undated(looked)
        if not moments:
            raise InputError(
                _nothing(looked),
                where=str(folder),
                hint="make captures with 'kernelprof profile ... -o DIR', or baselines with "
                "'kernelprof baseline save'",
            )
        return build_history(str(folder), Source.FOLDER, moments, wanted, store)


def _store(subject: Path, no_cache: bool) -> Store:
    from kernelprof.compare.history.store import Store, place_of

    return Store(None if no_cache else place_of(subject.expanduser()))


def _nothing(looked: Folder) -> str:
    from kernelprof.compare.history.find import DEPTH

    tried = len(looked.found.captures) + len(looked.found.baselines)
    if tried:
        return f"none of its {tried} captures and baselines can be read"
    return (
        "there is no capture directory (with a manifest.json) and no baseline (.json) in it, "
        f"{DEPTH} folders deep"
    )


def _tell_unread(unread: list[tuple[str, str]] | tuple[tuple[str, str], ...]) -> None:
    for name, why in unread[:_MOST_WARNINGS]:
        warn(f"{name} is left out: {why}")
    if len(unread) > _MOST_WARNINGS:
        warn(f"and {len(unread) - _MOST_WARNINGS} more are left out")


def _tell_undated(looked: Folder) -> None:
    undated = looked.found.undated
    if not undated:
        return
    names = ", ".join(looked.name(path) for path in undated[:_MOST_NAMES])
    more = f" and {len(undated) - _MOST_NAMES} more" if len(undated) > _MOST_NAMES else ""
    files = "1 file" if len(undated) == 1 else f"{len(undated)} files"
    remark([f"{files} left out, neither a capture directory nor a baseline: {names}{more}"])


def _render(
    found: History, output_format: HistoryFormat, output: Path | None, *, no_color: bool
) -> str:
    if output_format is HistoryFormat.JSON:
        from kernelprof.report.writers import json

        return json.write(found)
    if output_format is HistoryFormat.CSV:
        from kernelprof.report.writers import csv

        remark(found.notes)
        return csv.write(found)
    if output_format is HistoryFormat.MARKDOWN:
        from kernelprof.report.history_markdown import render_history_markdown

        return render_history_markdown(found)
    from kernelprof.report.history_text import render_history_text

    to = screen.of(output, no_color=no_color)
    return render_history_text(found, to)
