"""``kernelprof ladder``: the GEMM ladder's rungs, climbing them on a GPU, and the reports."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelprof.cli import screen
from kernelprof.cli.output import check_place, warn, write_file, write_text
from kernelprof.cli.report import check_name
from kernelprof.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.ladder.climb import Step
    from kernelprof.ladder.results import Climb

ladder = typer.Typer(
    no_args_is_help=True,
    help="The GEMM ladder: kernels that change one thing at a time, measured and diagnosed.",
)

HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="FILE.html", help="A report for a browser.")
]


class ListFormat(StrEnum):
    """How the rungs are listed."""

    TEXT = "text"
    JSON = "json"


@ladder.command("list")
def list_rungs(
    *,
    list_format: Annotated[
        ListFormat, typer.Option("--format", help="For people or for programs.")
    ] = ListFormat.TEXT,
    changes: Annotated[
        bool, typer.Option("--changes", help="Also say what each rung changes.")
    ] = False,
) -> None:
    """List the rungs, each with the file that `kernelprof diagnose` takes."""
    from kernelprof.ladder.registry import ladder as rungs
    from kernelprof.ladder.registry import to_json

    if list_format is ListFormat.JSON:
        write_text(to_json(rungs()))
        return
    from kernelprof.report.documents.ladder import listing
    from kernelprof.report.writers import terminal

    document = listing(rungs(), changes=changes)
    write_text(terminal.write(document, terminal.Screen(screen.width())))


@ladder.command("run")
def run(
    *,
    size: Annotated[
        int | None,
        typer.Option("--size", metavar="N", min=1, help="M, N and K instead of the files' own."),
    ] = None,
    rung: Annotated[
        list[str] | None,
        typer.Option("--rung", metavar="RUNG", help="Only this rung: a number or a file."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE.md", help="Write the report into this file."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Keep the results here instead of beside the report."
        ),
    ] = None,
    captures: Annotated[
        Path | None,
        typer.Option(
            "--captures", metavar="DIR", help="Write a capture directory a rung, or replace it."
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
    """Check, time and profile every rung on this machine's GPU, and write a report.

    Results are kept after each rung. With --continue rungs that are done are left out, but for
    those that --rung names. A rung that fails is in the report, and the exit code is its error's.
    """
    from kernelprof.ladder.climb import Callbacks, Plan, climb
    from kernelprof.ladder.registry import choose
    from kernelprof.ladder.registry import ladder as rungs
    from kernelprof.report.progress import ProgressLine

    if no_profile and captures is not None:
        raise UsageError("--captures needs the profiler", hint="leave out --no-profile")
    kept = _results_place(output, results, html)
    if go_on and kept is None:
        raise UsageError("there are no results to go on from", hint="name them: -o or --json")
    places = {"--captures": captures, "--json": results, "-o": output, "--html": html}
    words = [*_words(size, rung or [], places), *(["--no-profile"] if no_profile else [])]
    plan = Plan(
        rungs=choose(rungs(), rung or []),
        command=shlex.join(["kernelprof", "ladder", "run", *words]),
        anew=bool(rung),
        size=size,
        captures=captures,
        profile=not no_profile,
        display=ProgressLine,
    )
    known = _read(kept) if go_on and kept is not None and kept.is_file() else None

    def save(found: Climb) -> None:
        if kept is not None:
            _write_results(found, kept)

    found = climb(plan, Callbacks(_report_step, warn, save), known)
    _write_reports(found, output, html, captures)
    troubles = [each.error for each in found.rungs if each.error is not None]
    for each in troubles:
        warn(f"{each.where or 'the ladder'}: {each.what}")
    if troubles:
        raise typer.Exit(troubles[0].exit_code)


@ladder.command("report")
def report(
    results: Annotated[Path, typer.Argument(metavar="FILE.json", help="What a run kept.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE.md", help="Write the report into this file."),
    ] = None,
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
    _results_place(output, None, html)
    _write_reports(_read(results), output, html, captures)


def _results_place(
    output: Path | None, results: Path | None, html: Path | None = None
) -> Path | None:
    """Where results are kept: where somebody says, else beside the report."""
    if html is not None:
        check_name(html)
    for path in (output, results, html):
        if path is not None and not path.expanduser().parent.is_dir():
            raise InputError(
                "there is no such folder to write to",
                where=str(path.parent),
                hint="make it, or name a file in another",
            )
        if path is not None:
            check_place(path)
    if output is not None and results is not None and _same_file(output, results):
        raise UsageError(
            "the report and its results would be one file",
            where=str(results),
            hint="give --json a name that ends in .json",
        )
    if output is not None and output.suffix != ".md":
        raise UsageError(
            "a report is Markdown", where=str(output), hint="give -o a name that ends in .md"
        )
    if results is not None:
        return results.expanduser()
    beside = output or html
    return None if beside is None else beside.expanduser().with_suffix(".json")


def _same_file(one: Path, other: Path) -> bool:
    return one.expanduser().resolve() == other.expanduser().resolve()


def _words(
    size: int | None,
    rung: list[str],
    places: Mapping[str, Path | None],
) -> list[str]:
    """The options with a value, as they were given."""
    words = [] if size is None else ["--size", str(size)]
    for each in rung:
        words += ["--rung", each]
    for option, path in places.items():
        if path is not None:
            words += [option, str(path)]
    return words


def _report_step(step: Step) -> None:
    """A rung in a line: ``1 of 2: 01_naive.cu: 275 ms, uncoalesced-global-access (9 s)``."""
    from kernelprof.report.documents.ladder_parts import time_cell, verdict_name

    rung = step.climbed
    parts = [] if rung.timing is None else [time_cell(rung.timing)]
    if rung.full is not None:
        parts.append(verdict_name(rung.full.said))
    if rung.error is not None:
        parts.append(f"failed: {rung.error.what}")
    text = f"{step.position} of {step.of}: {rung.file}: {', '.join(parts)} ({step.seconds:.0f} s)"
    sys.stderr.write(f"kernelprof: {text}\n")


def _read(path: Path) -> Climb:
    from kernelprof.ladder.results import from_json

    try:
        text = path.expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(
            f"the results cannot be read: {getattr(error, 'strerror', None) or error}",
            where=str(path),
            hint="name the JSON file that 'kernelprof ladder run' wrote beside its report",
        ) from error
    return from_json(text, str(path))


def _write_results(found: Climb, path: Path) -> None:
    from kernelprof.model.records import to_json

    write_file(to_json(found), path)


def _write_reports(
    found: Climb, output: Path | None, html: Path | None, captures: Path | None
) -> None:
    """The page if one is named; the Markdown report if that is, or neither."""
    from kernelprof.ladder.registry import ladder as rungs
    from kernelprof.model.numbers import count
    from kernelprof.report.documents.ladder import document

    said = f"{count(len(found.rungs), 'rung')} on {found.surroundings.gpu}\n"
    if html is not None:
        from kernelprof.cli.ladder_html import cards
        from kernelprof.report.writers import html as page

        write_file(page.write(document(found, rungs(), cards(found, captures))), html)
        write_text(f"{html}: {said}")
        if output is None:
            return
    from kernelprof.report.writers import markdown

    text = markdown.write(document(found, rungs()), largest=None, level=1)
    if output is None:
        write_text(text)
    else:
        write_file(text, output)
        write_text(f"{output}: {said}")
