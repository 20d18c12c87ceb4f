"""``kernelprof profile``: run a program under ``ncu`` and keep what was measured."""

from __future__ import annotations

import shlex
from pathlib import Path  # noqa: TC003 (typer reads the types)
from typing import TYPE_CHECKING, Annotated

import typer

from kernelprof.cli import options, output
from kernelprof.cli.progress import progress_line
from kernelprof.interface.requests import (  # noqa: TC001 (typer reads the types)
    MeasurementOptions,
)

if TYPE_CHECKING:
    from kernelprof.results import Capture

ORDER = 20


@options.list_after(repeat="force")
def profile(
    ctx: typer.Context,
    *,
    target: Annotated[
        str | None, typer.Argument(metavar="[TARGET]", help="A .cu file to build and launch.")
    ] = None,
    directory: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="The capture directory to write.")
    ],
    preset: Annotated[str, options.preset_option("Metrics to collect; see `presets`.")] = "full",
    kernel: options.KernelOption = None,
    measurement: Annotated[
        MeasurementOptions,
        options.Expand(
            options.MeasurementFlags,
            *("launch_skip", "launch_count", "nvtx_include", "clock_control", "time_limit"),
            *("force", "size", "define", "sanitize", "against", "flags", "build"),
            force=typer.Option("--force", help="Replace an existing capture in DIR."),
        ),
    ],
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat",
            metavar="N",
            min=1,
            help="Make N captures, DIR/1 to DIR/N, each in a new process.",
        ),
    ] = 1,
) -> None:
    """Profile a program (after `--`) or a kernel with ncu, and write a capture directory.

    A .cu file is built by its launch specification, checked, timed and then profiled. A .cu file
    with its own `main` gets the arguments after `--`. Diagnose the directory with
    `kernelprof diagnose DIR`, on this machine or any other.
    """
    from kernelprof.interface import captures
    from kernelprof.interface.requests import is_source
    from kernelprof.model.numbers import count

    words = options.program(ctx)
    source = is_source(target)
    measurement["arguments"] = words if source else None
    made = captures.profile(
        target,
        directory,
        program=None if source else words,
        preset=preset,
        kernel=kernel,
        progress=progress_line(),
        repeat=repeat,
        **measurement,
    )
    several = len(made) > 1
    for number, each in enumerate(made, 1):
        _report(each, directory / str(number) if several else directory, several=several)
    if several:
        quoted = shlex.quote(str(directory))
        output.write_lines(
            f"{directory}: {count(len(made), 'capture')}; next, make a baseline from them:",
            f"kernelprof baseline save {quoted} -o kernels.json",
            "or judge them against an existing baseline:",
            f"kernelprof gate kernels.json {quoted}",
        )


def _report(made: Capture, folder: Path, *, several: bool) -> None:
    from kernelprof.model.numbers import count

    manifest = made.manifest
    assert manifest is not None  # a capture directory always has one
    which = f"{folder}: " if several else ""
    for run in manifest.runs:
        for sentence in run.warnings:
            output.warn(f"{which}{sentence}")
    if manifest.unavailable:
        output.warn(
            f"{which}ncu could not collect these metrics: {', '.join(manifest.unavailable)}"
        )
    output.print_remarks(*(f"{which}{line}" for line in made.remarks))
    launches = sum(run.launches for run in manifest.runs)
    seconds = sum(run.seconds for run in manifest.runs)
    output.write_lines(
        f"{folder}: {count(launches, 'launch')} in {seconds:.1f} s, {manifest.describe()}"
    )
