"""``kernelprof fleet``: a plan's run on many GPUs, what is stored, and questions to it."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 (typer reads the types)
from typing import Annotated

import typer

from kernelprof.cli import options, output
from kernelprof.cli.progress import progress_line
from kernelprof.errors import Interrupted
from kernelprof.interface import fleet

ORDER = 125
COMMAND = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Many kernels on many GPUs: run a plan, see what is stored, ask it.",
)

StoreOption = Annotated[
    str | None,
    typer.Option("--store", metavar="PLACE", help="A folder or a URL, instead of the plan's."),
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Read all files again and keep nothing of them.")
]
TargetArgument = Annotated[
    str, typer.Argument(metavar="STORE", help="A store's folder or URL, or a plan that names one.")
]


@COMMAND.command("run")
def run(
    plan: Annotated[Path, typer.Argument(metavar="PLAN.toml", help="What to measure, and where.")],
    *,
    store: StoreOption = None,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            metavar="ADDRESS",
            help="A Ray cluster, such as auto or HOST:PORT; local starts a Ray on this machine.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            min=1,
            help="What is built and diagnosed at a time, beside the GPUs; a worker a core "
            "without it.",
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Measure what is stored, too.")] = False,
    recorded: Annotated[
        bool,
        typer.Option(
            "--recorded", help="Take recorded captures in place of measurements: needs no GPU."
        ),
    ] = False,
    output_format: Annotated[
        str,
        options.format_option("fleet_run", "text, json or markdown: how to write what was done."),
    ] = "text",
    file: options.OutputOption = None,
    html: options.HtmlOption = None,
    no_color: options.NoColorOption = False,
) -> None:
    """Measure what a plan names and the store has not, and store it.

    What is stored is not measured again, and neither is a kernel whose machine code and launch are
    those of one that is stored. A run that ended early goes on where it was. The exit code is that
    of the first job that failed.
    """
    output.check_places(file, html=html)
    try:
        with progress_line() as progress:
            found = fleet.run(
                plan,
                store=store,
                ray=ray,
                workers=workers,
                again=again,
                recorded=recorded,
                tell=lambda done, of, what: progress.say(f"{done} of {of}: {what}"),
            )
    except Interrupted as stop:
        output.remark([f"interrupted: {stop.what}"])
        raise
    if html is not None:
        output.write_page(found, html)
    output.write_result(output.rendered(found, output_format, file, no_color=no_color), file)
    if found.exit_code:
        raise typer.Exit(found.exit_code)


@COMMAND.command("status")
def status(
    target: TargetArgument,
    *,
    store: StoreOption = None,
    output_format: Annotated[
        str,
        options.format_option("fleet_status", "text, json or markdown: how to write the status."),
    ] = "text",
    file: options.OutputOption = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Also write a page for the team, with answers to all usual questions.",
        ),
    ] = None,
    no_cache: NoCacheOption = False,
    no_color: options.NoColorOption = False,
) -> None:
    """Show what a store has, what its runs did and, of a plan, what is missing."""
    output.check_places(file, html=html)
    found = fleet.status(target, store=store, answers=html is not None, cache=not no_cache)
    if html is not None:
        output.write_page(found, html)
    output.write_result(output.rendered(found, output_format, file, no_color=no_color), file)


@COMMAND.command("query")
def query(
    target: TargetArgument,
    question: Annotated[
        str | None,
        typer.Argument(
            metavar="[QUESTION]",
            help="regressions: what got slower, and since when. potential: what could be saved, "
            "by kernel. sweep: the fastest parameters of each sweep.",
            show_default=False,
        ),
    ] = None,
    *,
    sql: Annotated[
        str | None,
        typer.Option(
            "--sql", metavar="QUERY", help="Any other question, over the views kernels, launches."
        ),
    ] = None,
    store: StoreOption = None,
    kernel: options.KernelOption = None,
    gpu: Annotated[
        str | None, typer.Option("--gpu", metavar="NAME", help="Only GPUs with this in their name.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="DATE",
            help="Only what was measured from this day on, such as 2026-11-21 (UTC); of "
            "regressions, those against what was measured before it.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="The first N rows; 0 for all.")
    ] = 20,
    output_format: Annotated[
        str,
        options.format_option("fleet_query", "text, json or markdown: how to write the answer."),
    ] = "text",
    file: options.OutputOption = None,
    html: options.HtmlOption = None,
    no_cache: NoCacheOption = False,
    no_color: options.NoColorOption = False,
) -> None:
    """Ask a store one of the usual questions, or any other in SQL."""
    output.check_places(file, html=html)
    found = fleet.query(
        target,
        question,
        sql=sql,
        store=store,
        kernel=kernel,
        gpu=gpu,
        since=since,
        limit=limit,
        cache=not no_cache,
    )
    if html is not None:
        output.write_page(found, html)
    output.write_result(output.rendered(found, output_format, file, no_color=no_color), file)
