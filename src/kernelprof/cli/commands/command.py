"""``kernelprof command``: the exact ``ncu`` command for a preset."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelprof.cli import options, output
from kernelprof.cli.options import ClockControl  # noqa: TC001 (typer reads the types)

ORDER = 90


def command(
    ctx: typer.Context,
    *,
    preset: Annotated[str, options.preset_option("Metrics to collect; see `presets`.")] = "full",
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            metavar="NAME",
            help="Collect only this kernel; write its name as a capture shows it.",
        ),
    ] = None,
    launch_skip: options.LaunchSkipOption = None,
    launch_count: options.LaunchCountOption = None,
    clock_control: Annotated[
        ClockControl | None,
        typer.Option("--clock-control", help="Value of the ncu option --clock-control."),
    ] = None,
) -> None:
    """Print only the ncu command that collects a preset's metrics.

    Without a program after `--`, the command ends in a placeholder.
    """
    from kernelprof.interface import reference

    line = reference.ncu_command(
        preset,
        kernel=kernel,
        launch_skip=launch_skip,
        launch_count=launch_count,
        clock_control=clock_control,
        application=options.program(ctx),
    )
    output.write_text(f"{line}\n")
