"""``kernelprof compare``: what one change did."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelprof.cli import options  # noqa: TC001 (typer reads the types)
from kernelprof.cli.output import Output, fields, remark
from kernelprof.cli.progress import progress_line

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
    to: Annotated[
        Output,
        fields(
            "comparison",
            "text, brief, json or markdown: how to write the comparison.",
            *("tokens", "file", "html", "png", "no_color"),
        ),
    ],
    size: options.SizeOption = None,
    define: options.DefineOption = None,
    rename: options.RenameOption = None,
) -> None:
    """Compare two captures by time, exact counters and verdict together.

    Two .cu files are built and measured in turn, A B A B.
    """
    from kernelprof.interface.changes import compare

    to.check()
    comparison = compare(
        before,
        after,
        size=size,
        define=define,
        rename=rename or (),
        progress=progress_line(),
        remark=lambda line: remark([line]),
    )
    given = {"--size": size, "--define": define, "--rename": rename}
    words = [f"{option}={each}" for option, values in given.items() for each in values or ()]
    to.write(comparison, "compare", before, after, *words)
