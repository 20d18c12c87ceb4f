"""``kernelprof report``: a capture as one HTML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kernelprof.cli.output import write_file, write_text
from kernelprof.errors import UsageError

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture, SourceLine
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.manifest import Manifest
    from kernelprof.report.documents.capture_page import Beside as Material

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
    check_name(output)
    found, diagnosis = _read(capture)
    write_report(found, diagnosis, output, beside(capture))
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


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known beside the counters of a capture: its manifest, and samples by source line.

    ``place`` is where it was read from.
    """

    place: Path
    manifest: Manifest | None = None
    lines: tuple[SourceLine, ...] | None = None


def beside(target: str) -> Beside:
    """What a capture directory holds beside the counters; nothing for any other capture."""
    from kernelprof.sources.capture_directory import is_capture, read_lines, read_manifest

    folder = Path(target)
    if not is_capture(folder):
        return Beside(folder)
    manifest = read_manifest(folder)
    return Beside(folder, manifest, read_lines(folder, manifest))


def write_report(capture: Capture, diagnosis: Diagnosis, output: Path, known: Beside) -> None:
    """Render a report and put it in its place."""
    from kernelprof.report.documents import capture_page
    from kernelprof.report.writers import html

    write_file(html.write(capture_page.document(capture, diagnosis, material(known))), output)


def material(known: Beside) -> Material:
    """What the page shows beside the counters."""
    from kernelprof.model.capture import shares
    from kernelprof.report.documents.capture_page import Beside as Material

    manifest, hot = known.manifest, None
    if known.lines is not None and manifest is not None and manifest.source is not None:
        hot = shares(known.lines, manifest.source.path)
    return Material(manifest, source_text(manifest, known.place), hot)


def source_text(manifest: Manifest | None, capture: Path) -> str | None:
    """The kernel's source as it was measured: kept with the capture, or still where it was."""
    import hashlib

    from kernelprof.resources import data_folder
    from kernelprof.sources.capture_directory import SOURCE_FILE

    if manifest is None or manifest.source is None:
        return None
    named = Path(manifest.source.path)
    places = [capture / SOURCE_FILE, named]
    if named.parts[:1] == ("cuda",):
        places.append(data_folder("cuda").joinpath(*named.parts[1:]))
    for place in places:
        try:
            data = place.read_bytes()
        except OSError:
            continue
        if hashlib.sha256(data).hexdigest() == manifest.source.sha256:
            return data.decode("utf-8", "replace")
    return None
