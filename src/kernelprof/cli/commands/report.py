"""``kernelprof report``: captures as one HTML file."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 (typer reads the types)
from typing import Annotated

import typer

from kernelprof import interface
from kernelprof.cli import options, output
from kernelprof.cli.progress import reading
from kernelprof.errors import UsageError
from kernelprof.interface.several import each_capture, files_of
from kernelprof.model.numbers import count

ORDER = 30


def report(
    captures: Annotated[
        list[str],
        typer.Argument(
            metavar="CAPTURE",
            help="A directory of `profile`, .csv (raw or details page), the text page of ncu, "
            ".ncu-rep (all also .gz), a folder of these, or -.",
        ),
    ],
    *,
    file: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.html", help="The file to write.")
    ],
    png: options.PngOption = None,
) -> None:
    """Write a report that opens in a browser, from disk and without a network.

    Of several captures, or of a folder of them, it shows one after the other.
    """
    output.check_places(html=file, png=png)
    if captures.count(interface.STDIN) > 1:
        raise UsageError("standard input can be read once", hint="give - once")
    with reading(files_of(captures)) as meter:
        found = each_capture(
            captures,
            lambda each: interface.diagnose_for_page(each, meter=meter),
            lambda line: output.remark([line]),
        )
    output.write_page(found, file)
    if png is not None:
        output.write_picture(found, png)
    launches = count(sum(len(each.capture) for each in found), "launch")
    what = captures[0] if len(found) == 1 else count(len(found), "capture")
    output.write_lines(f"{file}: {launches} of {what}")
