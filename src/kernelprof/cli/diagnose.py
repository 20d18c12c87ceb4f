"""``kernelprof diagnose``: what holds the kernels of a capture back."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelprof.cli import screen
from kernelprof.cli.output import warn, write_file, write_text
from kernelprof.cli.program import program
from kernelprof.errors import ExitCode, InputError, MissingToolError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.diagnosis import Diagnosis

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
            help="Captures: .csv (raw or details page, also .gz), .ncu-rep, or - for stdin.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="Printed ncu commands collect this preset, not just what is missing.",
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
) -> None:
    """Name what holds each kernel of a capture back, with the evidence.

    Exit code 3: at least one kernel is inconclusive, and the ncu command that settles it is there.
    """
    pattern = _pattern(kernel)
    named = _captures(targets or [], program(ctx), preset, kernel)
    diagnoses = _matching(_diagnose(named, preset, merged=merge), pattern)
    text = _render(diagnoses, output_format, top, screen.of(output, no_color=no_color))
    if output is not None or output_format is not OutputFormat.TEXT:
        for diagnosis in diagnoses:
            for warning in diagnosis.warnings:
                warn(f"{diagnosis.origin}: {warning}")
    if output is None:
        write_text(text)
    else:
        write_file(text, output)
    if any(diagnosis.inconclusive for diagnosis in diagnoses):
        raise typer.Exit(ExitCode.INCONCLUSIVE)


def _captures(
    targets: Sequence[str],
    application: Sequence[str] | None,
    preset: str | None,
    kernel: str | None,
) -> Sequence[str]:
    """The targets, if all are captures that this build can diagnose."""
    if targets and application is not None:
        raise UsageError(
            "captures and a program are given together",
            hint="name captures, or a program after --, not both",
        )
    if application is not None:
        raise _not_a_capture(
            "this build diagnoses captures; it does not run programs", application, preset, kernel
        )
    if not targets:
        raise UsageError(
            "there is nothing to diagnose",
            hint="name a capture: kernelprof diagnose capture.csv\n"
            "'kernelprof command --preset full -- ./app' prints the ncu command that makes one",
        )
    for target in targets:
        if target.endswith((".cu", ".cuh")):
            name = Path(target).stem
            raise _not_a_capture(
                f"this build diagnoses captures; it does not build {target}",
                (f"./{name}",),
                preset,
                kernel,
                before=f"build {name} from it (nvcc -O3 -lineinfo -o {name} {target}), then ",
            )
    if targets.count("-") > 1:
        raise UsageError("standard input can be read once", hint="give - once")
    return targets


def _not_a_capture(
    what: str,
    application: Sequence[str],
    preset: str | None,
    kernel: str | None,
    *,
    before: str = "",
) -> MissingToolError:
    from kernelprof.capture.command import ncu_command, quote

    command = ncu_command(preset or "full", application=list(application) or None)
    if kernel is not None:
        # Like --kernel, and unlike ncu's default, this looks at the whole demangled name.
        command[1:1] = ["--kernel-name-base", "demangled", "--kernel-name", f"regex:{kernel}"]
    return MissingToolError(
        what,
        hint=f"on a machine with a GPU {before}make capture.csv with the command below, and then "
        f"diagnose that: kernelprof diagnose capture.csv\n{quote(command)}",
    )


def _diagnose(targets: Sequence[str], preset: str | None, *, merged: bool) -> list[Diagnosis]:
    """One diagnosis a capture, or one of all of them; all are read before any is judged."""
    from kernelprof.tables import read_capture
    from kernelprof.verdict import diagnose as judge

    if preset is not None:
        from kernelprof.metrics.catalogue import preset as known_preset

        known_preset(preset)
    captures = [read_capture(target) for target in targets]
    if merged:
        from kernelprof.model.merge import merge

        captures = [reduce(merge, captures)]
    return [judge(capture, preset=preset) for capture in captures]


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
    destination: screen.Destination,
) -> str:
    if output_format is OutputFormat.JSON:
        from kernelprof.render.json import render_json

        return render_json(diagnoses)
    if output_format is OutputFormat.MARKDOWN:
        from kernelprof.render.markdown import render_markdown

        return render_markdown(diagnoses, top=top)
    from kernelprof.render.text import Screen, render_text

    shown_on = Screen(destination.width, destination.color, destination.encoding)
    return render_text(diagnoses, shown_on, top=top)
