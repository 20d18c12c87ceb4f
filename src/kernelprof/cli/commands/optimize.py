"""``kernelprof optimize``: a command proposes, and what is better is kept."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 (typer reads the types)
from typing import Annotated

import typer

from kernelprof.cli.options import Expand
from kernelprof.cli.output import Output, output_fields, print_remarks, write_file
from kernelprof.cli.progress import progress_line
from kernelprof.errors import ExitCode
from kernelprof.interface.requests import (  # noqa: TC001 (typer reads the types)
    OptimizationOptions,
)

ORDER = 60


class OptimizationFlags:
    """The options of :class:`kernelprof.interface.requests.OptimizationOptions`."""

    rounds: Annotated[
        int, typer.Option("--rounds", metavar="N", min=1, help="Maximum number of proposals.")
    ] = 5
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget", metavar="S", min=0.1, help="Request no more proposals after S seconds."
        ),
    ] = None
    command_limit: Annotated[
        float,
        typer.Option(
            "--time-limit", metavar="S", min=0.1, help="Stop each run of COMMAND after S seconds."
        ),
    ] = 600.0
    predict: Annotated[
        bool,
        typer.Option("--predict", help="Judge by predicted times and counters, without a GPU."),
    ] = False
    arch: Annotated[
        str | None,
        typer.Option("--arch", metavar="sm_90", help="Architecture to predict for."),
    ] = None
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="The gate's policy file; see `gate --help`."),
    ] = None


def optimize(
    source: Annotated[
        Path, typer.Argument(metavar="KERNEL.cu", help="A source with a launch specification.")
    ],
    *,
    command: Annotated[
        str,
        typer.Option(
            "--with",
            metavar="COMMAND",
            help="Command that proposes changes: it runs in a scratch folder with a copy of the "
            "source, reads the diagnosis from standard input, and edits the copy.",
        ),
    ],
    limits: Annotated[OptimizationOptions, Expand(OptimizationFlags)],
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Replace KERNEL.cu with the best source at the end."),
    ] = False,
    best: Annotated[
        Path | None, typer.Option("--best", metavar="FILE", help="Write the best source to FILE.")
    ] = None,
    to: Annotated[
        Output,
        output_fields(
            "optimization",
            "Output format: text, brief, json or markdown.",
            *("tokens", "file", "no_color"),
        ),
    ],
) -> None:
    """Let a command improve a kernel in a loop: diagnose, propose, check, measure, keep or reject.

    A proposal is kept if it passes the gate and is faster; with --predict, if it passes the gate
    and is predicted to be faster or lowers a counter. The launch specification and the reference
    are those of the original source. The loop ends when the kernel is at its limit, after N rounds,
    or when nothing is proposed.
    """
    from kernelprof.interface import optimization
    from kernelprof.model.optimization import Ended

    def write(tried: optimization.Tried, *, applies: bool) -> None:
        if best is not None:
            write_file(tried.text, best)
        to.write(optimization.best_written(tried, write_file) if applies else tried)

    to.check(best)
    tried = optimization.optimize(
        source,
        command,
        progress=progress_line(),
        remark=print_remarks,
        interrupted=lambda tried: write(tried, applies=False),
        **limits,
    )
    tampered = tried.ended is Ended.TAMPERED
    write(tried, applies=apply and not tampered)
    if tampered:
        raise typer.Exit(ExitCode.BAD_INPUT)
