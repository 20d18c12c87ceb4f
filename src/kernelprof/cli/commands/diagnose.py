"""``kernelprof diagnose``: what limits the kernels of a capture."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 (typer reads the types)
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kernelprof import interface
from kernelprof.cli import options, output
from kernelprof.cli.progress import progress_line, reading
from kernelprof.errors import ExitCode, UsageError
from kernelprof.interface import prediction
from kernelprof.interface.profiling import is_source
from kernelprof.interface.several import each_capture, files_of
from kernelprof.model.kernel_name import name_pattern
from kernelprof.results import only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.results import Diagnosis

ORDER = 10

_HOW_TO_MEASURE: Final = (
    *("keep", "force", "launch_skip", "launch_count", "nvtx_include", "clock_control"),
    *("time_limit", "budget", "build", "flags"),
)
"""Parameters that are about a measurement."""


def diagnose(
    ctx: typer.Context,
    *,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET",
            help="Captures: a directory of `profile`, .csv (raw or details page), the text page "
            "of ncu, .ncu-rep (all also .gz), a folder of these, or - for stdin. Or one .cu file.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        options.preset_option(
            "Printed ncu commands collect this preset, not just what is missing; a program is "
            "measured with it in one run."
        ),
    ] = None,
    output_format: Annotated[
        str,
        options.format_option(
            "diagnosis", "text, brief, json, markdown or sarif: how to write the diagnosis."
        ),
    ] = "text",
    kernel: options.KernelOption = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            metavar="N",
            min=0,
            help="Show the first N kernels instead of those with 90 % of the time, at most 5; 0 "
            "lists all in a table.",
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Say why: all evidence with its metrics, how the gain was worked out, what is "
            "missing. Markdown, JSON and the page always have it.",
        ),
    ] = False,
    tokens: options.TokensOption = None,
    merge: Annotated[
        bool,
        typer.Option("--merge", help="Take the captures as one: later ones fill what is missing."),
    ] = False,
    no_color: options.NoColorOption = False,
    file: options.OutputOption = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Keep what was measured in this directory."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a capture in --keep.")] = False,
    launch_skip: options.LaunchSkipOption = None,
    launch_count: options.LaunchCountOption = None,
    nvtx_include: options.NvtxOption = None,
    clock_control: options.ClockOption = "none",
    time_limit: options.TimeLimitOption = None,
    budget: options.BudgetOption = 120.0,
    build: options.BuildOption = None,
    flags: options.FlagsOption = None,
    html: options.HtmlOption = None,
    size: options.SizeOption = None,
    define: options.DefineOption = None,
    sanitize: options.SanitizeOption = None,
    against: options.AgainstOption = None,
    predict: options.PredictOption = False,
    arch: options.ArchOption = None,
) -> None:
    """Name what limits each kernel of a capture, or of a program after `--`.

    A program is surveyed at nearly its own speed, which says how busy the GPU is; then its costly
    kernels are measured under ncu, with as many metrics as the verdicts ask for. A .cu file is
    built, checked and timed first; without a GPU its recorded capture is taken, if there is one of
    just this kernel, else it is predicted. Exit code 3: at least one kernel is inconclusive, and
    the ncu command that settles it is there.
    """
    program = options.program(ctx)
    source = _check_targets(targets or [], program)
    arguments = program if source else None
    if source:
        program = None
    output.check_places(file, html=html)
    interface.check_overrides(size, define, sanitize, has_source=source, against=against)
    if program is not None or source or predict or arch:
        found = [
            interface.diagnose(
                None if not targets else targets[0],
                program=program,
                kernel=kernel,
                preset=preset,
                predict=predict,
                arch=each,
                keep=keep,
                force=force,
                launch_skip=launch_skip,
                launch_count=launch_count,
                nvtx_include=nvtx_include,
                clock_control=clock_control,
                time_limit=time_limit,
                budget=budget,
                arguments=arguments,
                flags=flags,
                build=build,
                samples=source,
                size=size,
                define=define,
                sanitize=sanitize,
                against=against,
                progress=progress_line(),
            )
            for each in (prediction.architectures(arch) if predict or arch else (None,))
        ]
    else:
        _say_what_has_no_effect(ctx)
        found = _of_captures(targets or [], preset, kernel, merge=merge, page=html is not None)
    shown = {"top": top, "explain": explain, "tokens": tokens}
    text = output.rendered(found, output_format, file, no_color=no_color, **shown)
    _comment(found, quiet=file is None and output_format in ("text", "brief"))
    output.write_result(text, file)
    if html is not None:
        output.write_page(found, html)
    if any(each.inconclusive for each in found):
        raise typer.Exit(ExitCode.INCONCLUSIVE)


def _of_captures(
    targets: Sequence[str], preset: str | None, kernel: str | None, *, merge: bool, page: bool
) -> list[Diagnosis]:
    """One diagnosis a capture, or one of all; of several, some may have no such kernel."""
    if kernel is not None:
        name_pattern(kernel)
    with reading(files_of(targets)) as meter:

        def one(target: str) -> Diagnosis:
            if page:
                return interface.diagnose_for_page(target, preset=preset, meter=meter)
            return interface.diagnose(target, preset=preset, whole=False, meter=meter)

        if merge:
            captures = each_capture(targets, lambda each: interface.read(each, meter=meter), _note)
            together = interface.united(captures, merge=True)
            found = [together.diagnose(preset=preset, meter=meter)]
        else:
            found = each_capture(targets, one, _note)
    return found if kernel is None else only(found, kernel)


def _note(line: str) -> None:
    output.remark([line])


def _check_targets(targets: Sequence[str], program: Sequence[str] | None) -> bool:
    """Refuse what does not go together; whether the target is a source to build."""
    if targets and program is not None and not (len(targets) == 1 and is_source(targets[0])):
        raise UsageError(
            "captures and a program are given together",
            hint="name captures, or a program after --, not both",
        )
    sources = [target for target in targets if is_source(target)]
    if sources and len(targets) > 1:
        raise UsageError(
            "a source is diagnosed by itself",
            where=sources[0],
            hint="diagnose one .cu file at a time, and captures without one",
        )
    if not targets and program is None:
        raise UsageError(
            "there is nothing to diagnose",
            hint="name a capture: kernelprof diagnose capture.csv\n"
            "or a program: kernelprof diagnose -- ./app args...",
        )
    if targets.count(interface.STDIN) > 1:
        raise UsageError("standard input can be read once", hint="give - once")
    return bool(sources)


def _say_what_has_no_effect(ctx: typer.Context) -> None:
    """Captures are measured already: options that say how to measure do nothing."""
    given = [
        each.opts[0]
        for each in ctx.command.params
        if each.name in _HOW_TO_MEASURE and ctx.params[each.name] not in (each.default, [], ())
    ]
    if given:
        has = "has" if len(given) == 1 else "have"
        output.warn(
            f"{', '.join(given)} {has} no effect here: captures are measured already. A program "
            "after --, or a .cu file, is measured"
        )


def _comment(found: Sequence[Diagnosis], *, quiet: bool) -> None:
    """On stderr: what was measured, and the warnings that the written result does not show."""
    for each in found:
        output.remark(each.capture.remarks)
        if quiet:
            continue
        if each.capture.recorded:
            output.warn(each.capture.origin)
        for warning in each.warnings:
            output.warn(f"{each.origin}: {warning}")
