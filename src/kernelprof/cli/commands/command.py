"""``kernelprof command``: the exact ``ncu`` command for a preset."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelprof.cli import options, output
from kernelprof.cli.options import ClockControl, ProgramCommand
from kernelprof.interface import reference

ORDER = 90
COMMAND = typer.Typer(add_completion=False)


@COMMAND.command(cls=ProgramCommand)
def command(
    ctx: typer.Context,
    *,
    preset: Annotated[
        str,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="Metrics to collect; see `presets`.",
            autocompletion=options.complete_preset,
        ),
    ],
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", metavar="NAME", help="Only this kernel, named as in a capture."),
    ] = None,
    launch_skip: Annotated[
        int | None, typer.Option("--launch-skip", min=0, help="Leave out the first launches.")
    ] = None,
    launch_count: Annotated[
        int | None, typer.Option("--launch-count", min=1, help="Stop after this many launches.")
    ] = None,
    clock_control: Annotated[
        ClockControl | None,
        typer.Option("--clock-control", help="What ncu does to the GPU's clocks."),
    ] = None,
) -> None:
    """Print the ncu command that collects a preset's metrics, and nothing else.

    Without a program after `--` it ends in a placeholder.
    """
    line = reference.ncu_command(
        preset,
        kernel=kernel,
        launch_skip=launch_skip,
        launch_count=launch_count,
        clock_control=None if clock_control is None else clock_control.value,
        application=options.program(ctx),
    )
    output.write_text(f"{line}\n")
