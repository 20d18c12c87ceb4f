"""``kernelprof doctor``: what this machine has, what each lack stops, and how to get it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kernelprof.cli import options, output
from kernelprof.errors import ExitCode

ORDER = 140


class Requirement(StrEnum):
    """What has to work; the last two stand for all that they need."""

    GPU = "gpu"
    NCU = "ncu"
    COUNTERS = "counters"
    NVCC = "nvcc"
    PYCUDA = "pycuda"
    PREDICT = "predict"
    PROFILE = "profile"
    SOURCES = "sources"


def doctor(
    *,
    require: Annotated[
        list[Requirement] | None,
        typer.Option(
            "--require",
            help="Exit with code 4 unless this requirement is met. `profile` stands for everything "
            "required to profile a program, `sources` for everything required to measure a .cu "
            "file.",
        ),
    ] = None,
    output_format: Annotated[
        str,
        options.format_option("doctor", "Output format: text, brief, json or markdown."),
    ] = "text",
) -> None:
    """Check GPU, driver, ncu, permission for counters, nvcc, PyCUDA and the tools for predictions.

    No kernel is run and nothing is changed. Exit code 0 if stored captures can be diagnosed; 4 if
    not, or if a requirement of --require is missing or unknown.
    """
    from kernelprof.interface import reference

    checks = reference.doctor()
    output.write_text(output.shown("doctor", checks, output_format))
    required = reference.required_checks(each.value for each in require or ())
    if any(check.name in required and check.ok is not True for check in checks):
        raise typer.Exit(ExitCode.ENVIRONMENT)
