"""``kernelprof diagnose``: what holds the kernels of a capture back."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelprof.cli import screen
from kernelprof.cli.command import ClockControl
from kernelprof.cli.output import check_place, warn, write_result
from kernelprof.cli.program import program
from kernelprof.cli.remarks import remark
from kernelprof.cli.report import check_name, write_report
from kernelprof.cli.source_options import DefineOption, SanitizeOption, SizeOption, overrides
from kernelprof.errors import ExitCode, InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelprof.collect.request import ProfileRequest
    from kernelprof.collect.session import ProfileResult
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.report.document import Document
    from kernelprof.report.writers.terminal import Screen

_NAMES_SHOWN = 5


class OutputFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def diagnose(
    ctx: typer.Context,
    *,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET",
            help="Captures: a directory of `profile`, .csv (raw or details page, also .gz), "
            ".ncu-rep, or - for stdin. Or one .cu file with a launch specification.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="Printed ncu commands collect this preset, not just what is missing; a program "
            "is measured with it in one run.",
        ),
    ] = None,
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="How to write the diagnosis.")
    ] = OutputFormat.TEXT,
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", metavar="REGEX", help="Only kernels whose name matches."),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            metavar="N",
            min=0,
            help="Explain the first N kernels instead of those with 90 % of the time, at most 5.",
        ),
    ] = None,
    merge: Annotated[
        bool,
        typer.Option("--merge", help="Take the captures as one: later ones fill what is missing."),
    ] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colour.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write into this file.")
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Keep what was measured of a program here."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a capture in --keep.")] = False,
    launch_skip: Annotated[
        int | None,
        typer.Option("--launch-skip", min=0, help="Leave out a program's first launches."),
    ] = None,
    launch_count: Annotated[
        int | None,
        typer.Option("--launch-count", min=1, help="Measure so many launches of a program."),
    ] = None,
    nvtx_include: Annotated[
        list[str] | None,
        typer.Option("--nvtx-include", metavar="RANGE", help="Only launches in this NVTX range."),
    ] = None,
    clock_control: Annotated[
        ClockControl, typer.Option("--clock-control", help="What ncu does to the GPU's clocks.")
    ] = ClockControl.NONE,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit", metavar="S", min=0.1, help="End a run of a program after S seconds."
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write a report for a browser."),
    ] = None,
    size: SizeOption = None,
    define: DefineOption = None,
    sanitize: SanitizeOption = None,
) -> None:
    """Name what holds each kernel of a capture, or of a program after `--`, back.

    A program is run under ncu, first for a few metrics and then for those that the verdicts ask
    for. A .cu file is built, checked and timed before; without a GPU its recorded capture is taken,
    if there is one of just this kernel. Exit code 3: at least one kernel is inconclusive, and the
    ncu command that settles it is there.
    """
    pattern = _pattern(kernel)
    application = program(ctx)
    if html is not None:
        _check_report(html, targets or [], merged=merge)
    _check_places(output, html)
    source = _source(targets or [], application)
    wished = overrides(size, define, sanitize, has_source=source is not None)
    measured: ProfileResult | None = None
    if application is not None or source is not None:
        from kernelprof.collect.request import Filters, ProfileRequest

        request = ProfileRequest(
            application=application or (),
            source=source,
            overrides=wished,
            keep=keep,
            force=force,
            filters=Filters(kernel, launch_skip, launch_count, tuple(nvtx_include or ())),
            clock_control=clock_control.value,
            time_limit=time_limit,
            samples=html is not None and source is not None,
        )
        measured = _measured(request, preset)
        found = [(measured.capture, _judged(measured, preset))]
    else:
        from kernelprof.cli.reading import diagnosed

        found = diagnosed(_captures(targets or []), preset, merged=merge, whole=html is not None)
    diagnoses = _matching([diagnosis for _, diagnosis in found], pattern)
    text = _render(diagnoses, output_format, top, screen.of(output, no_color=no_color))
    if output is not None or output_format is not OutputFormat.TEXT:
        if measured is not None and measured.recorded:
            warn(measured.capture.origin)
        for diagnosis in diagnoses:
            for warning in diagnosis.warnings:
                warn(f"{diagnosis.origin}: {warning}")
    write_result(text, output)
    if html is not None:
        from kernelprof.sources.contents import Contents, contents

        target = "" if merge or not targets else targets[0]
        known = (
            contents(target)
            if measured is None
            else Contents(Path(target), measured.manifest, measured.lines)
        )
        write_report(found[0][0], diagnoses[0], html, known)
    if any(diagnosis.inconclusive for diagnosis in diagnoses):
        raise typer.Exit(ExitCode.INCONCLUSIVE)


def _check_report(html: Path, targets: Sequence[str], *, merged: bool) -> None:
    """Refuse what cannot become one report before anything is measured."""
    check_name(html)
    if len(targets) > 1 and not merged:
        raise UsageError(
            "a report is of one capture",
            where=", ".join(targets),
            hint="--merge takes them as one, or write a report of each",
        )


def _check_places(output: Path | None, html: Path | None) -> None:
    """Refuse files that cannot be written before anything is measured."""
    for path in (output, html):
        if path is not None:
            check_place(path)
    if output is not None and html is not None and output.resolve() == html.resolve():
        raise UsageError(
            "-o and --html name one file", where=str(html), hint="give each a name of its own"
        )


def _captures(targets: Sequence[str]) -> Sequence[str]:
    """The targets, if there are any and they can be read together."""
    if not targets:
        raise UsageError(
            "there is nothing to diagnose",
            hint="name a capture: kernelprof diagnose capture.csv\n"
            "or a program: kernelprof diagnose -- ./app args...",
        )
    if targets.count("-") > 1:
        raise UsageError("standard input can be read once", hint="give - once")
    return targets


def _source(targets: Sequence[str], application: Sequence[str] | None) -> Path | None:
    """The one target that is a source to build, if that is what was named."""
    if targets and application is not None:
        raise UsageError(
            "captures and a program are given together",
            hint="name captures, or a program after --, not both",
        )
    sources = [target for target in targets if target.endswith((".cu", ".cuh"))]
    if sources and len(targets) > 1:
        raise UsageError(
            "a source is diagnosed by itself",
            where=sources[0],
            hint="diagnose one .cu file at a time, and captures without one",
        )
    return Path(sources[0]) if sources else None


def _measured(request: ProfileRequest, preset: str | None) -> ProfileResult:
    """Run what is asked for: one preset in one go, or as much as the verdicts need."""
    from kernelprof.collect.session import measure
    from kernelprof.report.measurement import summary
    from kernelprof.report.progress import ProgressLine

    found = measure(request, preset, ProgressLine())
    remark(summary(found))
    return found


def _judged(measured: ProfileResult, preset: str | None) -> Diagnosis:
    """The verdicts of a drill-down, else those over what was measured."""
    if measured.drill_down is not None:
        return replace(measured.drill_down.diagnosis, origin=measured.capture.origin)
    from kernelprof.analysis.verdict import diagnose as judge

    return judge(measured.capture, preset=preset)


def _pattern(kernel: str | None) -> re.Pattern[str] | None:
    if kernel is None:
        return None
    try:
        return re.compile(kernel)
    except re.error as error:
        raise UsageError(
            f"--kernel {kernel!r} is not a regular expression: {error}",
            hint="escape brackets of a kernel's name with a backslash",
        ) from error


def _matching(
    diagnoses: Sequence[Diagnosis], pattern: re.Pattern[str] | None
) -> Sequence[Diagnosis]:
    if pattern is None:
        return diagnoses
    found = [
        replace(diagnosis, kernels=tuple(k for k in diagnosis.kernels if pattern.search(k.name)))
        for diagnosis in diagnoses
    ]
    matching = [diagnosis for diagnosis in found if diagnosis.kernels]
    if not matching:
        names = list(dict.fromkeys(k.name for each in diagnoses for k in each.kernels))
        listing = "; ".join(names[:_NAMES_SHOWN])
        more = len(names) - _NAMES_SHOWN
        raise InputError(
            f"no kernel's name matches {pattern.pattern!r}",
            where=", ".join(diagnosis.origin for diagnosis in diagnoses),
            hint=f"there are: {listing}" + (f"; and {more} more" if more > 0 else ""),
        )
    return matching


def _render(
    diagnoses: Sequence[Diagnosis],
    output_format: OutputFormat,
    top: int | None,
    shown_on: Screen,
) -> str:
    from kernelprof.report import writers

    def documents() -> Iterator[Document]:
        from kernelprof.report.documents import diagnosis

        return (diagnosis.document(each, top) for each in diagnoses)

    return writers.render("diagnosis", output_format.value, diagnoses, documents, shown_on)
