"""``kernelprof optimize``: a command proposes, and what is better is kept."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 (typer reads the types)
from typing import Annotated

import typer

from kernelprof.cli import options, output
from kernelprof.cli.progress import progress_line
from kernelprof.errors import ExitCode
from kernelprof.model.optimization import Ended

ORDER = 60


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
            help="What proposes: it is started in a scratch folder with a copy of the source, gets "
            "the brief on standard input, and changes the source there.",
        ),
    ],
    rounds: Annotated[
        int, typer.Option("--rounds", metavar="N", min=1, help="Proposals to ask for at most.")
    ] = 5,
    budget: Annotated[
        float | None,
        typer.Option("--budget", metavar="S", min=0.1, help="Ask for none after so many seconds."),
    ] = None,
    time_limit: Annotated[
        float,
        typer.Option("--time-limit", metavar="S", min=0.1, help="Seconds for one proposal."),
    ] = 600.0,
    predict: Annotated[
        bool,
        typer.Option(
            "--predict", help="Judge by what machine code counts: no GPU, no time is measured."
        ),
    ] = False,
    arch: Annotated[
        str | None,
        typer.Option("--arch", metavar="sm_90", help="What predictions are for."),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="The gate's policy, as for `gate`."),
    ] = None,
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Put the best source in the place of KERNEL.cu at the end."),
    ] = False,
    best: Annotated[
        Path | None, typer.Option("--best", metavar="FILE", help="Write the best source there.")
    ] = None,
    output_format: Annotated[
        str,
        options.format_option("optimization", "text, brief, json or markdown: how to write it."),
    ] = "text",
    tokens: options.TokensOption = None,
    file: options.OutputOption = None,
    no_color: options.NoColorOption = False,
) -> None:
    """Let a command improve a kernel: diagnose, propose, check, measure in turns, keep or not.

    A proposal is kept if the gate lets it pass and it is faster; with --predict, if it counts less
    and nothing more. The launch specification and the reference are the original's. It ends at the
    limit of the kernel, after N rounds, or when nothing is proposed.
    """
    from kernelprof.interface import optimizing

    def write(found: optimizing.Tried, *, applies: bool) -> None:
        if best is not None:
            output.write_file(found.text, best)
        if applies:
            found = optimizing.best_written(found, output.write_file)
        text = output.rendered(found, output_format, file, no_color=no_color, tokens=tokens)
        output.write_result(text, file)

    output.check_places(file, best)
    found = optimizing.optimize(
        source,
        command,
        rounds=rounds,
        budget=budget,
        command_limit=time_limit,
        predict=predict or arch is not None,
        arch=arch,
        policy=policy,
        progress=progress_line(),
        remark=lambda line: output.remark([line]),
        interrupted=lambda found: write(found, applies=False),
    )
    tampered = found.ended is Ended.TAMPERED
    write(found, applies=apply and not tampered)
    if tampered:
        raise typer.Exit(ExitCode.BAD_INPUT)
