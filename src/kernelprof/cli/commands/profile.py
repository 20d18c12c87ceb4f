"""``kernelprof profile``: run a program under ``ncu`` and keep what was measured."""

from __future__ import annotations

import shlex
from pathlib import Path  # noqa: TC003 (typer reads the types)
from typing import TYPE_CHECKING, Annotated

import typer

from kernelprof import interface
from kernelprof.cli import options, output
from kernelprof.cli.progress import progress_line
from kernelprof.interface.profiling import is_source
from kernelprof.model.numbers import count

if TYPE_CHECKING:
    from kernelprof.results import Capture

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
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat",
            metavar="N",
            min=1,
            help="Make N captures, each of a process of its own: DIR/1 to DIR/N.",
        ),
    ] = 1,
    size: options.SizeOption = None,
    define: options.DefineOption = None,
    sanitize: options.SanitizeOption = None,
    against: options.AgainstOption = None,
    flags: options.FlagsOption = None,
    build: options.BuildOption = None,
) -> None:
    """Profile a program (after `--`) or a kernel with ncu, and write a capture directory.

    A .cu file is built as its launch specification says, checked, timed and then profiled; one with
    its own `main` takes what stands after `--` as its arguments. Diagnose the directory with
    `kernelprof diagnose DIR`, on this machine or any other.
    """
    words = options.program(ctx)
    source = is_source(target)
    found = interface.profile(
        target,
        directory,
        program=None if source else words,
        arguments=words if source else None,
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
        against=against,
        flags=flags,
        build=build,
        progress=progress_line(),
        repeat=repeat,
    )
    several = len(found) > 1
    for number, each in enumerate(found, 1):
        _say(each, directory / str(number) if several else directory, several=several)
    if several:
        place = shlex.quote(str(directory))
        output.write_lines(
            f"{directory}: {count(len(found), 'capture')}; next, make a baseline of them:",
            f"kernelprof baseline save {place} -o kernels.json",
            "or judge them against one:",
            f"kernelprof gate kernels.json {place}",
        )


def _say(found: Capture, place: Path, *, several: bool) -> None:
    """What was captured, and what was checked and timed for it."""
    manifest = found.manifest
    assert manifest is not None  # a capture directory always has one
    which = f"{place}: " if several else ""
    for run in manifest.runs:
        for sentence in run.warnings:
            output.warn(f"{which}{sentence}")
    if manifest.unavailable:
        output.warn(f"{which}ncu could not give: {', '.join(manifest.unavailable)}")
    output.remark(f"{which}{line}" for line in found.remarks)
    launches = sum(run.launches for run in manifest.runs)
    seconds = sum(run.seconds for run in manifest.runs)
    output.write_lines(
        f"{place}: {count(launches, 'launch')} in {seconds:.1f} s, {manifest.describe()}"
    )
