"""``kernelprof profile``: run a program under ``ncu`` and keep what was measured."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 (typer reads the types)
from typing import Annotated

import typer

from kernelprof import interface
from kernelprof.cli import options, output
from kernelprof.cli.progress import progress_line

ORDER = 20


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
    launch_skip: options.LaunchSkipOption = None,
    launch_count: options.LaunchCountOption = None,
    nvtx_include: options.NvtxOption = None,
    clock_control: options.ClockOption = "none",
    time_limit: options.TimeLimitOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a capture in DIR.")] = False,
    size: options.SizeOption = None,
    define: options.DefineOption = None,
    sanitize: options.SanitizeOption = None,
) -> None:
    """Profile a program (after `--`) or a kernel with ncu, and write a capture directory.

    A .cu file is built as its launch specification says, checked, timed and then profiled. Diagnose
    the directory with `kernelprof diagnose DIR`, on this machine or any other.
    """
    found = interface.profile(
        target,
        directory,
        program=options.program(ctx),
        preset=preset,
        kernel=kernel,
        force=force,
        launch_skip=launch_skip,
        launch_count=launch_count,
        nvtx_include=nvtx_include,
        clock_control=clock_control,
        time_limit=time_limit,
        size=size,
        define=define,
        sanitize=sanitize,
        progress=progress_line(),
    )
    manifest = found.manifest
    assert manifest is not None  # a capture directory always has one
    for run in manifest.runs:
        for sentence in run.warnings:
            output.warn(sentence)
    if manifest.unavailable:
        output.warn(f"ncu could not give: {', '.join(manifest.unavailable)}")
    output.remark(found.remarks)
    launches = sum(run.launches for run in manifest.runs)
    seconds = sum(run.seconds for run in manifest.runs)
    output.write_text(
        f"{directory}: {launches} launch{'es' if launches != 1 else ''} in {seconds:.1f} s, "
        f"{manifest.describe()}\n"
    )
