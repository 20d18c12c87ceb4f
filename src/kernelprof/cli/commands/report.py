"""``kernelprof report``: captures as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelprof.cli import options, output
from kernelprof.cli.progress import show_reading

if TYPE_CHECKING:
    from collections.abc import Sequence

ORDER = 30


def report(
    captures: Annotated[
        list[str],
        typer.Argument(
            metavar="CAPTURE",
            help="A directory written by `profile`, .csv (raw or details page), text output of "
            "ncu, .ncu-rep (each also as .gz), a folder of these, or - for stdin.",
        ),
    ],
    *,
    file: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE.html",
            help="The file to write; default: kernelprof-CAPTURE.html in the current folder.",
        ),
    ] = None,
    png: options.PngOption = None,
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
) -> None:
    """Write an HTML report that opens from disk, without a network.

    The report of several captures, or of a folder, shows them one after the other.
    """
    from kernelprof.interface.captures import (
        diagnose_for_page,
        each_capture,
        expand_folders,
        refuse_stdin_twice,
    )
    from kernelprof.model.numbers import count

    file = file or default_file(captures)
    output.check_places(html=file, png=png)
    refuse_stdin_twice(captures)
    with show_reading(expand_folders(captures)) as meter:
        diagnoses = each_capture(
            captures,
            lambda each: diagnose_for_page(each, meter=meter),
            output.print_remarks,
        )
    output.write_page(diagnoses, file)
    if png is not None:
        output.write_picture(diagnoses, png)
    launches = count(sum(len(each.capture) for each in diagnoses), "launch")
    what = captures[0] if len(diagnoses) == 1 else count(len(diagnoses), "capture")
    output.write_lines(f"{file}: {launches} from {what}")
    if show:
        import webbrowser

        if not webbrowser.open(file.resolve().as_uri()):
            output.warn(f"no browser found; open {file} yourself")


def default_file(captures: Sequence[str]) -> Path:
    """Return the page's file in the current folder, named after the only capture."""
    name = Path(captures[0]).resolve().name.split(".")[0] if len(captures) == 1 else ""
    return Path(f"kernelprof-{name if captures[0] != '-' and name else 'report'}.html")
