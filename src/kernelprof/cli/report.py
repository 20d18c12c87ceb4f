"""``kernelprof report``: a capture as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelprof.cli.output import write_file, write_text
from kernelprof.errors import UsageError

if TYPE_CHECKING:
    from kernelprof.capture.manifest import Manifest
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis


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
    from kernelprof.tables import read_capture
    from kernelprof.verdict import diagnose

    check_name(output)
    found = read_capture(capture)
    write_report(found, diagnose(found), output, manifest_of(capture), capture)
    write_text(f"{output}: {len(found)} launch{'es' if len(found) != 1 else ''} of {capture}\n")


def check_name(output: Path) -> None:
    """Refuse a name that no browser opens as a page, before anything is measured."""
    if output.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(
            "a report is an HTML file", where=str(output), hint="give it a name that ends in .html"
        )


def manifest_of(target: str) -> Manifest | None:
    """The manifest of a capture directory; ``None`` for any other capture."""
    from kernelprof.capture.store import is_capture, read_manifest

    folder = Path(target)
    return read_manifest(folder) if is_capture(folder) else None


def write_report(
    capture: Capture, diagnosis: Diagnosis, output: Path, manifest: Manifest | None, target: str
) -> None:
    """Render a report and put it in its place."""
    from kernelprof.render.html.build import build_page
    from kernelprof.render.html.page import render_page

    text = source_text(manifest, Path(target))
    page = build_page(capture, diagnosis, manifest=manifest, source_text=text)
    write_file(render_page(page), output)


def source_text(manifest: Manifest | None, capture: Path) -> str | None:
    """The kernel's source as it was measured: kept with the capture, or still where it was."""
    import hashlib

    from kernelprof.capture.store import SOURCE
    from kernelprof.resources import data_folder

    if manifest is None or manifest.source is None:
        return None
    named = Path(manifest.source.path)
    places = [capture / SOURCE, named]
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
