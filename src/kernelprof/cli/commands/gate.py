"""``kernelprof gate``: stop a change that makes a bottleneck worse."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from kernelprof.cli.options import Expand, GateFlags, list_after
from kernelprof.cli.output import Output, output_fields
from kernelprof.cli.progress import progress_line
from kernelprof.errors import UsageError
from kernelprof.interface.requests import GateOptions  # noqa: TC001 (typer reads the types)

ORDER = 50


@list_after(policy="candidate", no_color="against")
def gate(
    baseline: Annotated[
        str,
        typer.Argument(
            metavar="BASELINE",
            help="A file written by `baseline save`, or anything that `compare` accepts.",
        ),
    ],
    candidate: Annotated[
        list[str],
        typer.Argument(
            metavar="CANDIDATE",
            help="The capture to judge. Several captures, or a folder of them, count as runs of "
            "the same code. With --predict, name .cu files.",
        ),
    ],
    *,
    to: Annotated[
        Output,
        output_fields(
            "gate",
            "Output format: text, brief, json, junit, markdown or sarif.",
            *("tokens", "file", "junit", "sarif", "markdown", "html", "no_color"),
        ),
    ],
    judgement: Annotated[GateOptions, Expand(GateFlags)],
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", hidden=True, help="Now `baseline calibrate`."),
    ] = False,
) -> None:
    """Judge a candidate against a baseline by time, exact counters and verdict.

    With --predict, two .cu files are judged by predicted times and counters, without a GPU.
    The same holds for .cu files and a baseline written by `baseline save --predict`.

    Exit codes: 0 pass, 1 regression, 3 inconclusive (a failure unless the policy allows it).
    """
    from kernelprof.interface.changes import gate

    if calibrate:
        raise UsageError(
            "--calibrate was replaced by 'kernelprof baseline calibrate'",
            hint=shlex.join(["kernelprof", "baseline", "calibrate", baseline, *candidate]),
        )
    to.check()
    result = gate(baseline, candidate, progress=progress_line(), **judgement)
    words = ["--predict"] * judgement.get("predict", False)
    words += [word for each in judgement.get("arch") or () for word in ("--arch", each)]
    to.write(result, "gate", baseline, *candidate, *words)
    raise typer.Exit(result.exit_code)
