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
from kernelprof.errors import UsageError

if TYPE_CHECKING:
    from kernelprof.cli.sides import Side
    from kernelprof.model.comparison import Comparison
    from kernelprof.model.snapshot import Snapshot


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
    from kernelprof.compare import compare as compared

    if html is not None:
        check_name(html)
    for place in filter(None, (output, html)):
        check_place(place)
    (old, old_texts), (new, new_texts) = _sides(before, after, size, define)
    found = compared(old, new, (old_texts, new_texts))
    if html is not None:
        options = [f"--size={each}" for each in size or ()]
        options += [f"--define={each}" for each in define or ()]
        write_page(found, html, (old, new), ("compare", before, after, *options))
    text = _render(found, output_format, output, no_color=no_color)
    write_result(text, output)


def _sides(
    before: str, after: str, size: list[str] | None, define: list[str] | None
) -> tuple[Side, Side]:
    from kernelprof.cli.sides import load, measure

    sources = [target.endswith((".cu", ".cuh")) for target in (before, after)]
    if any(sources) and not all(sources):
        raise UsageError(
            "one is a source and the other is not",
            where=before if sources[0] else after,
            hint="compare two sources, which are measured in turn, or profile this one first: "
            f"kernelprof profile {before if sources[0] else after} -o DIR",
        )
    wished = overrides(size, define, None, has_source=all(sources))
    if all(sources):
        return measure(Path(before), Path(after), wished)
    return load(before), load(after)


def _render(
    comparison: Comparison, output_format: OutputFormat, output: Path | None, *, no_color: bool
) -> str:
    if output_format is OutputFormat.JSON:
        from kernelprof.report.writers import json

        return json.write(comparison)
    if output_format is OutputFormat.MARKDOWN:
        from kernelprof.report.comparison_markdown import render_comparison_markdown

        return render_comparison_markdown(comparison)
    from kernelprof.report.comparison_text import render_comparison_text

    to = screen.of(output, no_color=no_color)
    return render_comparison_text(comparison, to)


def write_page(
    comparison: Comparison,
    html: Path,
    sides: tuple[Snapshot, Snapshot],
    typed: tuple[str, ...],
) -> None:
    """Write a comparison as a page for a browser; ``typed`` are the words of its command."""
    import shlex

    from kernelprof.report.html.comparison import render_comparison_page
    from kernelprof.report.private import shown_origin

    command = shlex.join(["kernelprof", *map(shown_origin, typed)])
    write_file(render_comparison_page(comparison, sides, command), html)
