"""``kernelprof report``: a capture as one HTML file."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 (typer reads the types)
from typing import Annotated

import typer

from kernelprof import interface
from kernelprof.cli import output
from kernelprof.cli.progress import reading

ORDER = 30


def report(
    capture: Annotated[
        str,
        typer.Argument(
            metavar="CAPTURE",
            help="A directory of `profile`, .csv (raw or details page, also .gz), .ncu-rep, or -.",
        ),
    ],
    *,
    file: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.html", help="The file to write.")
    ],
) -> None:
    """Write a report that opens in a browser, from disk and without a network."""
    output.check_places(html=file)
    with reading([capture]) as meter:
        found = interface.diagnose_for_page(capture, meter=meter)
    output.write_page(found, file)
    launches = len(found.capture)
    output.write_text(f"{file}: {launches} launch{'es' if launches != 1 else ''} of {capture}\n")
