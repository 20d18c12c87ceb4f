"""``kernelprof ladder``: the ladders and their rungs, climbing one on a GPU, and the reports."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kernelprof.cli import output
from kernelprof.cli.progress import progress_line
from kernelprof.errors import InputError, UsageError
from kernelprof.interface import ladder

if TYPE_CHECKING:
    from kernelprof.ladder.results import Climb

ORDER = 120
COMMAND = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Ladders of GEMM kernels that change one thing at a time, measured and diagnosed.",
)

FileOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE.md", help="Write the report into this file."),
]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="FILE.html", help="A report for a browser.")
]


@COMMAND.command("list")
def list_rungs(
    ladder_name: Annotated[
        str, typer.Argument(metavar="LADDER", help="Which ladder.", show_default=False)
    ] = "",
    *,
    list_format: Annotated[
        Literal["text", "json"], typer.Option("--format", help="For people or for programs.")
    ] = "text",
    changes: Annotated[
        bool, typer.Option("--changes", help="Also say what each rung changes.")
    ] = False,
) -> None:
    """List the rungs, each with the file that `kernelprof diagnose` takes."""
    width = output.screen().width
    output.write_text(ladder.listing(ladder_name, list_format, width, changes=changes))


@COMMAND.command("run")
def run(
    rungs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUNG",
            help="A ladder (bf16), or rungs of one: 3, 03_shared_tile.cu, bf16/4.",
            show_default=False,
        ),
    ] = None,
    *,
    size: Annotated[
        int | None,
        typer.Option("--size", metavar="N", min=1, help="M, N and K instead of the ladder's."),
    ] = None,
    rung: Annotated[
        list[str] | None,
        typer.Option("--rung", metavar="RUNG", help="Only this rung, as the argument."),
    ] = None,
    file: FileOption = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Keep the results here instead of beside the report."
        ),
    ] = None,
    captures: Annotated[
        Path | None,
        typer.Option(
            "--captures", metavar="DIR", help="Write a capture directory per rung, or replace it."
        ),
    ] = None,
    no_profile: Annotated[
        bool, typer.Option("--no-profile", help="Check and time only, without ncu.")
    ] = False,
    go_on: Annotated[
        bool,
        typer.Option("--continue", help="Keep the results that are there, and add to them."),
    ] = False,
    html: HtmlOption = None,
) -> None:
    """Check, time and profile the rungs of a ladder on this machine's GPU, and write a report.

    Each is timed in turns with cuBLAS. Without a name it is all of the first ladder. Results are
    kept after each rung. With --continue rungs that are done are left out, but for those that are
    named themselves. A rung that fails is in the report, and the exit code is its error's.
    """
    if no_profile and captures is not None:
        raise UsageError("--captures needs the profiler", hint="leave out --no-profile")
    kept = _results_place(file, results, html)
    if go_on and kept is None:
        raise UsageError("there are no results to go on from", hint="name them: -o or --json")
    given: list[tuple[str, object]] = [("--size", size), *(("--rung", each) for each in rung or ())]
    given += [("--captures", captures), ("--json", results), ("-o", file), ("--html", html)]
    named = [*(rungs or ()), *(rung or ())]
    words = [word for name, value in given if value is not None for word in (name, str(value))]
    words = [*(rungs or ()), *words, *["--no-profile"] * no_profile]

    def save(found: Climb) -> None:
        if kept is not None:
            output.write_file(ladder.results_text(found), kept)

    found = ladder.climb(
        named,
        shlex.join(["kernelprof", "ladder", "run", *words]),
        size=size,
        captures=captures,
        profile=not no_profile,
        known=ladder.read_results(kept) if go_on and kept is not None and kept.is_file() else None,
        display=progress_line,
        step=lambda line: output.remark([line]),
        warn=output.warn,
        save=save,
    )
    _write_reports(found, file, html, captures)
    troubles = [each.error for each in found.rungs if each.error is not None]
    for each in troubles:
        output.warn(f"{each.where or 'the ladder'}: {each.what}")
    if troubles:
        raise typer.Exit(troubles[0].exit_code)


@COMMAND.command("report")
def report(
    results: Annotated[
        Path, typer.Argument(metavar="FILE.json", help="The results that a run kept.")
    ],
    *,
    file: FileOption = None,
    captures: Annotated[
        Path | None,
        typer.Option("--captures", metavar="DIR", help="The rungs' captures, for --html."),
    ] = None,
    html: HtmlOption = None,
) -> None:
    """Write the reports of a run again from its results; this needs no GPU."""
    if captures is not None and html is None:
        raise UsageError(
            "--captures is for a report with the rungs' cards", hint="name one: --html FILE.html"
        )
    if captures is not None and not captures.expanduser().is_dir():
        raise InputError(
            "there is no such folder with captures",
            where=str(captures),
            hint="name the folder that 'kernelprof ladder run --captures' wrote",
        )
    _results_place(file, None, html)
    _write_reports(ladder.read_results(results), file, html, captures)


def _results_place(
    file: Path | None, results: Path | None, html: Path | None = None
) -> Path | None:
    """Where results are kept: where somebody says, else beside the report."""
    output.check_places(file, results, html=html)
    if file is not None and file.suffix != ".md":
        raise UsageError(
            "a report is Markdown", where=str(file), hint="give -o a name that ends in .md"
        )
    if results is not None:
        return results.expanduser()
    beside = file or html
    return None if beside is None else beside.expanduser().with_suffix(".json")


def _write_reports(
    found: Climb, file: Path | None, html: Path | None, captures: Path | None
) -> None:
    """The page if one is named; the Markdown report if that is, or neither."""
    count = len(found.rungs)
    summary = f"{count} rung{'s' if count != 1 else ''} on {found.surroundings.gpu}\n"
    if html is not None:
        output.write_file(ladder.page(found, captures), html)
        output.write_text(f"{html}: {summary}")
        if file is None:
            return
    text = ladder.report(found)
    if file is None:
        output.write_text(text)
    else:
        output.write_file(text, file)
        output.write_text(f"{file}: {summary}")
