"""``kernelprof compare``: what one change did."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelprof.cli import options, output
from kernelprof.cli.progress import progress_line
from kernelprof.interface import changes

ORDER = 40


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
        str,
        options.format_option(
            "comparison", "text, brief, json or markdown: how to write the comparison."
        ),
    ] = "text",
    tokens: options.TokensOption = None,
    file: options.OutputOption = None,
    html: options.HtmlOption = None,
    png: options.PngOption = None,
    no_color: options.NoColorOption = False,
    size: options.SizeOption = None,
    define: options.DefineOption = None,
    rename: options.RenameOption = None,
) -> None:
    """Compare two captures by time, exact counters and verdict together.

    Two .cu files are built and measured in turn, A B A B.
    """
    output.check_places(file, html=html, png=png)
    found = changes.compare(
        before,
        after,
        size=size,
        define=define,
        rename=rename or (),
        progress=progress_line(),
        remark=lambda line: output.remark([line]),
    )
    if html is not None:
        given = [f"--size={each}" for each in size or ()]
        given += [f"--define={each}" for each in define or ()]
        given += [f"--rename={each}" for each in rename or ()]
        output.write_page(found, html, command=output.typed("compare", before, after, *given))
    if png is not None:
        output.write_picture(found, png)
    output.write_result(
        output.rendered(found, output_format, file, no_color=no_color, tokens=tokens), file
    )
