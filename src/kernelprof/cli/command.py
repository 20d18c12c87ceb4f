"""``kernelprof command``: the exact ``ncu`` command for a preset."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kernelprof.cli.output import write_text
from kernelprof.cli.program import program


class ClockControl(StrEnum):
    BASE = "base"
    BOOST = "boost"
    NONE = "none"


def command(
    ctx: typer.Context,
    *,
    preset: Annotated[
        str, typer.Option("--preset", metavar="NAME", help="Metrics to collect; see `presets`.")
    ],
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", metavar="NAME", help="Only this kernel, named as in a capture."),
    ] = None,
    launch_skip: Annotated[
        int | None, typer.Option("--launch-skip", min=0, help="Leave out the first launches.")
    ] = None,
    launch_count: Annotated[
        int | None, typer.Option("--launch-count", min=1, help="Stop after so many launches.")
    ] = None,
    clock_control: Annotated[
        ClockControl | None,
        typer.Option("--clock-control", help="What ncu does to the GPU's clocks."),
    ] = None,
) -> None:
    """Print the ncu command that collects a preset's metrics, and nothing else.

    Without a program after `--` it ends in a placeholder.
    """
    from kernelprof.analysis.ncu_command import ncu_command, quote

    line = ncu_command(
        preset,
        kernel=kernel,
        launch_skip=launch_skip,
        launch_count=launch_count,
        clock_control=None if clock_control is None else clock_control.value,
        application=program(ctx),
    )
    write_text(quote(line) + "\n")
