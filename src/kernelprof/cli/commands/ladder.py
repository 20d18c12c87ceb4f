"""``kernelprof ladder``: the ladders and their rungs, climbing one on a GPU, and the reports."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kernelprof.cli import output
from kernelprof.cli.progress import progress_line
from kernelprof.errors import InputError, UsageError

if TYPE_CHECKING:
    from kernelprof.ladder.results import Climb

ORDER = 120
COMMAND = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Measure and diagnose ladders of GEMM kernels; each rung changes one thing.",
)

FileOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE.md", help="Write the report to this file."),
]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="FILE.html", help="Also write an HTML report.")
]


@COMMAND.command("list")
def list_rungs(
    ladder_name: Annotated[
        str, typer.Argument(metavar="LADDER", help="Which ladder.", show_default=False)
    ] = "",
    *,
    list_format: Annotated[
        Literal["text", "json"], typer.Option("--format", help="Output format.")
    ] = "text",
    changes: Annotated[
        bool, typer.Option("--changes", help="Also print what each rung changes.")
    ] = False,
) -> None:
    """List the rungs, each with the file that `kernelprof diagnose` takes."""
    from kernelprof.interface import ladder

    width = output.screen().width
    output.write_text(ladder.listing(ladder_name, list_format, width, changes=changes))


@COMMAND.command("run")
def run(
    rungs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUNG",
            help="A ladder, such as bf16, or single rungs, such as 3, 03_shared_tile.cu or bf16/4.",
            show_default=False,
        ),
    ] = None,
    *,
    size: Annotated[
        int | None,
        typer.Option(
            "--size", metavar="SIZE", min=1, help="Use M = N = K = SIZE, not the ladder's sizes."
        ),
    ] = None,
    rung: Annotated[
        list[str] | None,
        typer.Option(
            "--rung", metavar="RUNG", help="Run only this rung, such as 3 or bf16/4; repeatable."
        ),
    ] = None,
    file: FileOption = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Write the results to FILE; default: next to the report."
        ),
    ] = None,
    captures: Annotated[
        Path | None,
        typer.Option(
            "--captures",
            metavar="DIR",
            help="Write a capture directory for each rung into DIR, and replace existing ones.",
        ),
    ] = None,
    no_profile: Annotated[
        bool, typer.Option("--no-profile", help="Only check and time the rungs, without ncu.")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--continue", help="Keep an earlier run's results, and run only the remaining rungs."
        ),
    ] = False,
    html: HtmlOption = None,
) -> None:
    """Check, time and profile the rungs of a ladder on this machine's GPU, and write a report.

    Each rung is timed in alternating rounds with cuBLAS. Without a name, it runs all rungs of the
    first ladder. Results are written after each rung. --continue skips finished rungs, except those
    that you name. The report lists failed rungs; the exit code is that of the first error.
    """
    from kernelprof.interface import ladder

    if no_profile and captures is not None:
        raise UsageError(
            "--captures needs ncu, which --no-profile does not run",
            hint="leave out one of these options",
        )
    results_file = _results_file(file, results, html)
    if resume and results_file is None:
        raise UsageError(
            "--continue needs the results of an earlier run",
            hint="name the earlier report with -o, or its results file with --json",
        )
    given: list[tuple[str, object]] = [("--size", size), *(("--rung", each) for each in rung or ())]
    given += [("--captures", captures), ("--json", results), ("-o", file), ("--html", html)]
    rungs_given = [*(rungs or ()), *(rung or ())]
    words = [word for name, value in given if value is not None for word in (name, str(value))]
    words = [*(rungs or ()), *words, *["--no-profile"] * no_profile]

    def save(climb: Climb) -> None:
        if results_file is not None:
            output.write_file(ladder.results_text(climb), results_file)

    climb = ladder.climb(
        rungs_given,
        shlex.join(["kernelprof", "ladder", "run", *words]),
        size=size,
        captures=captures,
        profile=not no_profile,
        earlier=ladder.read_results(results_file)
        if resume and results_file is not None and results_file.is_file()
        else None,
        display=progress_line,
        step=output.print_remarks,
        warn=output.warn,
        save=save,
    )
    _write_reports(climb, file, html, captures)
    errors = [each.error for each in climb.rungs if each.error is not None]
    for each in errors:
        output.warn(f"{each.where or 'the ladder'}: {each.what}")
    if errors:
        raise typer.Exit(errors[0].exit_code)


@COMMAND.command("report")
def report(
    results: Annotated[
        Path, typer.Argument(metavar="FILE.json", help="The results file of `ladder run`.")
    ],
    *,
    file: FileOption = None,
    captures: Annotated[
        Path | None,
        typer.Option(
            "--captures", metavar="DIR", help="The rungs' captures, to show in the HTML report."
        ),
    ] = None,
    html: HtmlOption = None,
) -> None:
    """Write the reports again from the results of a run; this needs no GPU."""
    from kernelprof.interface.ladder import read_results

    if captures is not None and html is None:
        raise UsageError(
            "--captures needs --html: only the HTML report shows captures",
            hint="add --html FILE.html",
        )
    if captures is not None and not captures.expanduser().is_dir():
        raise InputError(
            "the folder of captures does not exist",
            where=str(captures),
            hint="name the folder that 'kernelprof ladder run --captures' wrote",
        )
    _results_file(file, None, html)
    _write_reports(read_results(results), file, html, captures)


def _results_file(file: Path | None, results: Path | None, html: Path | None = None) -> Path | None:
    output.check_places(file, results, html=html)
    if file is not None and file.suffix != ".md":
        raise UsageError(
            "the report must be a Markdown file",
            where=str(file),
            hint="give -o a name that ends in .md",
        )
    if results is not None:
        return results.expanduser()
    report_file = file or html
    return None if report_file is None else report_file.expanduser().with_suffix(".json")


def _write_reports(
    climb: Climb, file: Path | None, html: Path | None, captures: Path | None
) -> None:
    from kernelprof.interface import ladder

    count = len(climb.rungs)
    summary = f"{count} rung{'s' if count != 1 else ''} on {climb.surroundings.gpu}\n"
    if html is not None:
        output.write_file(ladder.page(climb, captures), html)
        output.write_text(f"{html}: {summary}")
        if file is None:
            return
    text = ladder.report(climb)
    if file is None:
        output.write_text(text)
    else:
        output.write_file(text, file)
        output.write_text(f"{file}: {summary}")
