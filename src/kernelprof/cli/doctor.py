"""``kernelprof doctor``: what this machine has, what each lack stops, and how to get it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kernelprof.cli import screen
from kernelprof.cli.output import write_text
from kernelprof.errors import ExitCode


class DoctorFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


class Requirement(StrEnum):
    """What has to work; the last two stand for all that they need."""

    GPU = "gpu"
    NCU = "ncu"
    COUNTERS = "counters"
    NVCC = "nvcc"
    PYCUDA = "pycuda"
    PROFILE = "profile"
    SOURCES = "sources"


def doctor(
    *,
    require: Annotated[
        list[Requirement] | None,
        typer.Option(
            "--require",
            help="Exit with code 4 unless this is there. `profile` stands for all that profiling a "
            "program needs, `sources` for all that a .cu file needs.",
        ),
    ] = None,
    output_format: Annotated[
        DoctorFormat, typer.Option("--format", help="How to write what was found.")
    ] = DoctorFormat.TEXT,
) -> None:
    """Check GPU, driver, ncu, permission for counters, nvcc and PyCUDA.

    No kernel is run and nothing is changed. Exit code 0 if stored captures can be diagnosed, 4 if
    not, or if something that is required is missing or cannot be told.
    """
    from kernelprof.collect.doctor import checkup, needs
    from kernelprof.report import writers
    from kernelprof.report.documents.doctor import document

    checks = checkup()
    shown_on = screen.of(None, no_color=False)
    write_text(
        writers.render("doctor", output_format.value, checks, lambda: [document(checks)], shown_on)
    )
    required = {"captures", *(name for each in require or () for name in needs(each.value))}
    if any(check.name in required and check.ok is not True for check in checks):
        raise typer.Exit(ExitCode.ENVIRONMENT)
