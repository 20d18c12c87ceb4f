"""``kernelprof compare``: what one change did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelprof.cli import screen
from kernelprof.cli.diagnose import OutputFormat
from kernelprof.cli.output import check_place, write_file, write_result
from kernelprof.cli.report import check_name
from kernelprof.cli.source_options import DefineOption, SizeOption, overrides

if TYPE_CHECKING:
    from kernelprof.model.comparison import Comparison
    from kernelprof.model.snapshot import Snapshot
    from kernelprof.report.document import Document
    from kernelprof.report.writers.terminal import Screen


def compare(
    before: Annotated[
        str,
        typer.Argument(
            metavar="BEFORE",
            help="A directory of `profile`, .csv, .ncu-rep, a baseline or a diagnosis as .json; or "
            "a .cu file, if both are.",
        ),
    ],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The same, after the change.")],
    *,
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="How to write the comparison.")
    ] = OutputFormat.TEXT,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write into this file.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write a report for a browser."),
    ] = None,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colour.")] = False,
    size: SizeOption = None,
    define: DefineOption = None,
) -> None:
    """Say what happened between two captures: time, exact counters and verdict together.

    Two .cu files are built and measured in turn, A B A B.
    """
    from kernelprof.compare.compare import compare as compared
    from kernelprof.report.documents import comparison as documents

    if html is not None:
        check_name(html)
    for place in filter(None, (output, html)):
        check_place(place)
    found = compared(*_sides(before, after, size, define))
    if html is not None:
        options = [f"--size={each}" for each in size or ()]
        options += [f"--define={each}" for each in define or ()]
        command = typed_command("compare", before, after, *options)
        write_page(documents.document(found, documents.Detail.FULL, command=command), html)
    text = _render(found, output_format, output, no_color=no_color)
    write_result(text, output)


def _sides(
    before: str, after: str, size: list[str] | None, define: list[str] | None
) -> tuple[Snapshot, Snapshot]:
    from kernelprof.cli.remarks import remark
    from kernelprof.compare.sides import are_sources, load, measure

    sources = are_sources(before, after)
    wished = overrides(size, define, None, has_source=sources)
    if sources:
        from kernelprof.report.measurement import summary
        from kernelprof.report.progress import ProgressLine

        return measure(
            Path(before),
            Path(after),
            wished,
            progress=ProgressLine(),
            measured=lambda source, found: remark(
                f"{source.name}: {line}" for line in summary(found)
            ),
        )
    return load(before), load(after)


def _render(
    comparison: Comparison, output_format: OutputFormat, output: Path | None, *, no_color: bool
) -> str:
    from kernelprof.report.documents import comparison as documents
    from kernelprof.report.writers import markdown, terminal

    if output_format is OutputFormat.JSON:
        from kernelprof.report.writers import json

        return json.write(comparison)
    if output_format is OutputFormat.MARKDOWN:
        return markdown.write(documents.document(comparison, documents.Detail.COMMENT))
    return terminal.write(documents.document(comparison), screen_of(output, no_color=no_color))


def screen_of(output: Path | None, *, no_color: bool) -> Screen:
    """What the text is written for."""
    from kernelprof.report.writers.terminal import Screen

    to = screen.of(output, no_color=no_color)
    return Screen(to.width, to.color, to.encoding)


def typed_command(*typed: str) -> str:
    """What was typed, without the folders of the machine."""
    import shlex

    from kernelprof.report.private import shown_origin

    return shlex.join(["kernelprof", *map(shown_origin, typed)])


def write_page(document: Document, html: Path) -> None:
    """Write a document as a page for a browser."""
    from kernelprof.report.writers import html as writer

    write_file(writer.write(document), html)
