"""``kernelprof report``: a capture as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kernelprof.cli.output import write_file, write_text
from kernelprof.errors import UsageError

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.report.documents.capture_page import Beside as Material
    from kernelprof.sources.contents import Contents

LONG: Final = 4 << 20
"""Bytes from which a capture is read for a page of many kernels first."""


def report(
    capture: Annotated[
        str,
        typer.Argument(
            metavar="CAPTURE",
            help="A directory of `profile`, .csv (raw or details page, also .gz), .ncu-rep, or -.",
        ),
    ],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.html", help="The file to write.")
    ],
) -> None:
    """Write a report that opens in a browser, from disk and without a network."""
    from kernelprof.sources.contents import contents

    check_name(output)
    found, diagnosis = _read(capture)
    write_report(found, diagnosis, output, contents(capture))
    write_text(f"{output}: {len(found)} launch{'es' if len(found) != 1 else ''} of {capture}\n")


def _read(target: str) -> tuple[Capture, Diagnosis]:
    """A capture and what is said of it, with the metrics that a page shows.

    A long one most often has many kernels, whose tables leave most metrics out.
    """
    from kernelprof.analysis.verdict import diagnose
    from kernelprof.report.documents.metrics import MOST_WITH_ALL, OfManyKernels
    from kernelprof.sources import read_capture

    path = Path(target)
    if path.is_file() and path.stat().st_size >= LONG:
        brief = read_capture(target, only=OfManyKernels())
        said = diagnose(brief)
        if len(said.kernels) > MOST_WITH_ALL:
            return brief, said
    found = read_capture(target)
    return found, diagnose(found)


def check_name(output: Path) -> None:
    """Refuse a name that no browser opens as a page, before anything is measured."""
    if output.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(
            "a report is an HTML file", where=str(output), hint="give it a name that ends in .html"
        )


def write_report(capture: Capture, diagnosis: Diagnosis, output: Path, known: Contents) -> None:
    """Render a report and put it in its place."""
    from kernelprof.report.documents import capture_page
    from kernelprof.report.writers import html

    write_file(html.write(capture_page.document(capture, diagnosis, material(known))), output)


def material(known: Contents) -> Material:
    """What the page shows beside the counters."""
    from kernelprof.model.capture import shares
    from kernelprof.report.documents.capture_page import Beside as Material

    manifest, hot = known.manifest, None
    if known.lines is not None and manifest is not None and manifest.source is not None:
        hot = shares(known.lines, manifest.source.path)
    return Material(manifest, known.source_text(), hot)
