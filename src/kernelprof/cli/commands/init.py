"""``kernelprof init``: writes a launch specification into a kernel's source."""

from __future__ import annotations

import os
from pathlib import Path  # noqa: TC003 (typer reads the annotations)
from typing import Annotated

import typer

from kernelprof.cli import options, output
from kernelprof.cli.progress import progress_line
from kernelprof.errors import InputError, UsageError
from kernelprof.files import SOURCES

ORDER = 110


def init(
    source: Annotated[Path, typer.Argument(metavar="KERNEL.cu", help="The kernel's source file.")],
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            metavar="NAME",
            help="Kernel name, if the file has several.",
            callback=options.without_prefix,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing specification.")
    ] = False,
    against: options.AgainstOption = None,
) -> None:
    """Infer a kernel's launch specification from its source, and write it into the file.

    Comments give the reason for each inferred value, and mark values that cannot be inferred; the
    specification is refused until these are filled in. If the extra predict is installed, small
    cases are simulated to find the lengths of arrays and to check the inferred values.
    """
    from kernelprof.interface import reference

    if source.suffix not in SOURCES:
        raise UsageError("init takes a CUDA source file", where=str(source), hint="name a .cu file")
    made = reference.propose_specification(
        source, kernel=kernel, force=force, against=against, progress=progress_line()
    ).draft()
    if not source.stat().st_mode & 0o222 or not os.access(source, os.W_OK):
        raise InputError(
            "the file is read-only",
            where=str(source),
            hint="make it writable (chmod u+w), or write the specification into "
            f"{source.stem}.toml in the same folder",
        )
    output.write_file(made.text, source)
    output.print_remarks(*made.remarks)
    output.write_text(_summary(source, made.kernel, made.unfilled))


def _summary(source: Path, kernel: str, unfilled: tuple[tuple[int, str], ...]) -> str:
    head = f"{source}: wrote a launch specification for {kernel}\n"
    if not unfilled:
        return head + f"next: kernelprof diagnose {source}\n"
    places = "".join(f"  {source}:{line}: {text}\n" for line, text in unfilled)
    return f"{head}please fill in:\n{places}"
