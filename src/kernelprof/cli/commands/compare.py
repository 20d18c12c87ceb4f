"""``kernelprof compare``: what one change did."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelprof.cli.options import Expand, GateFlags, MeasurementFlags
from kernelprof.cli.output import Output, output_fields, print_remarks
from kernelprof.cli.progress import progress_line
from kernelprof.interface.requests import ComparisonOptions  # noqa: TC001 (typer reads the types)

ORDER = 40


def compare(
    before: Annotated[
        str,
        typer.Argument(
            metavar="BEFORE",
            help="A directory written by `profile`, a .csv or .ncu-rep file, a baseline, or a "
            ".json diagnosis. Or a .cu file, if AFTER is also a .cu file.",
        ),
    ],
    after: Annotated[
        str,
        typer.Argument(
            metavar="AFTER", help="The changed version, in any format that BEFORE can have."
        ),
    ],
    *,
    to: Annotated[
        Output,
        output_fields(
            "comparison",
            "Output format: text, brief, json or markdown.",
            *("tokens", "file", "html", "png", "no_color"),
        ),
    ],
    changes: Annotated[ComparisonOptions, Expand(MeasurementFlags, "size", "define")],
    others: Annotated[ComparisonOptions, Expand(GateFlags, "rename", "predict", "arch")],
) -> None:
    """Compare two captures by time, exact counters and verdict.

    Two .cu files are built and measured in alternating rounds, A B A B; with --predict they are
    predicted, without a GPU.
    """
    from kernelprof.interface.changes import compare

    to.check()
    changes |= others
    comparison = compare(before, after, progress=progress_line(), remark=print_remarks, **changes)
    words = [f"--size={each}" for each in changes.get("size") or ()]
    words += [f"--define={each}" for each in changes.get("define") or ()]
    words += [f"--rename={each}" for each in changes.get("rename") or ()]
    words += ["--predict"] if changes.get("predict") else []
    words += [f"--arch={each}" for each in changes.get("arch") or ()]
    to.write(comparison, "compare", before, after, *words)
