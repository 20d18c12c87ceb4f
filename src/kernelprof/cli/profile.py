"""``kernelprof profile``: run a program under ``ncu`` and keep what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelprof.cli.command import ClockControl
from kernelprof.cli.output import warn, write_text
from kernelprof.cli.program import program
from kernelprof.cli.remarks import remark
from kernelprof.cli.source_options import DefineOption, SanitizeOption, SizeOption, overrides
from kernelprof.errors import UsageError


def profile(
    ctx: typer.Context,
    *,
    target: Annotated[
        str | None, typer.Argument(metavar="[TARGET]", help="A .cu file to build and launch.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="The capture directory to write.")
    ],
    preset: Annotated[
        str, typer.Option("--preset", metavar="NAME", help="Metrics to collect; see `presets`.")
    ] = "full",
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", metavar="REGEX", help="Only kernels whose full name matches."),
    ] = None,
    launch_skip: Annotated[
        int | None, typer.Option("--launch-skip", min=0, help="Leave out the first launches.")
    ] = None,
    launch_count: Annotated[
        int | None, typer.Option("--launch-count", min=1, help="Stop after so many launches.")
    ] = None,
    nvtx_include: Annotated[
        list[str] | None,
        typer.Option("--nvtx-include", metavar="RANGE", help="Only launches in this NVTX range."),
    ] = None,
    clock_control: Annotated[
        ClockControl,
        typer.Option(
            "--clock-control",
            help="What ncu does to the GPU's clocks: nothing, or lock them for times that repeat.",
        ),
    ] = ClockControl.NONE,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="S", min=0.1, help="End the program after S seconds."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a capture in DIR.")] = False,
    size: SizeOption = None,
    define: DefineOption = None,
    sanitize: SanitizeOption = None,
) -> None:
    """Profile a program (after `--`) or a kernel with ncu, and write a capture directory.

    A .cu file is built as its launch specification says, checked, timed and then profiled. Diagnose
    the directory with `kernelprof diagnose DIR`, on this machine or any other.
    """
    from kernelprof.collect.preflight import check_filters
    from kernelprof.collect.request import Filters, ProfileRequest
    from kernelprof.collect.session import profile as run
    from kernelprof.report.measurement import facts
    from kernelprof.report.progress import ProgressLine

    application = program(ctx)
    if (target is None) == (application is None):
        what = "there is nothing to profile" if target is None else "a file and a program are given"
        raise UsageError(
            what,
            hint="name a program after --: kernelprof profile -o DIR -- ./app args...\n"
            "or a .cu file: kernelprof profile kernel.cu -o DIR",
        )
    if target is not None and not target.endswith((".cu", ".cuh")):
        raise UsageError(
            "only a .cu file or a program can be profiled",
            where=target,
            hint=f"a program stands after --: kernelprof profile -o {output} -- {target}",
        )
    check_filters(kernel)
    manifest = run(
        ProfileRequest(
            application=application or (),
            source=None if target is None else Path(target),
            overrides=overrides(size, define, sanitize, has_source=target is not None),
            keep=output,
            force=force,
            filters=Filters(kernel, launch_skip, launch_count, tuple(nvtx_include or ())),
            clock_control=clock_control.value,
            time_limit=time_limit,
        ),
        preset,
        ProgressLine(),
    )
    for made in manifest.runs:
        for sentence in made.warnings:
            warn(sentence)
    if manifest.unavailable:
        warn(f"ncu could not give: {', '.join(manifest.unavailable)}")
    remark(facts(manifest.timing, manifest.correctness))
    launches = sum(made.launches for made in manifest.runs)
    seconds = sum(made.seconds for made in manifest.runs)
    write_text(
        f"{output}: {launches} launch{'es' if launches != 1 else ''} in {seconds:.1f} s, "
        f"{manifest.describe()}\n"
    )
