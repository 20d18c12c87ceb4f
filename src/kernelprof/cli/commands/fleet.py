"""``kernelprof fleet``: a plan's run on many GPUs, what is stored, and questions to it."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 (typer reads the types)
from typing import Annotated

import typer

from kernelprof.cli import options
from kernelprof.cli.output import Output, output_fields, print_remarks
from kernelprof.cli.progress import progress_line
from kernelprof.errors import Interrupted

ORDER = 125
COMMAND = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Measure many kernels on many GPUs: run a plan, show its status, query its store.",
)

StoreOption = Annotated[
    str | None,
    typer.Option("--store", metavar="PLACE", help="A folder or a URL, instead of the plan's."),
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Read all files again; write no cache.")
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
            help="Builds and diagnoses that run concurrently, alongside the GPUs; default: one "
            "per core.",
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Measure again what is stored.")] = False,
    recorded: Annotated[
        bool,
        typer.Option(
            "--recorded", help="Take recorded captures in place of measurements: needs no GPU."
        ),
    ] = False,
    to: Annotated[
        Output,
        output_fields(
            "fleet_run",
            "text, json or markdown: how to write what was done.",
            "file",
            "html",
            "no_color",
        ),
    ],
) -> None:
    """Measure what a plan names and the store has not, and store it.

    What is stored is not measured again, and neither is a kernel whose machine code and launch are
    those of one that is stored. A run that ended early goes on where it was. The exit code is that
    of the first job that failed.
    """
    from kernelprof.interface import fleet

    to.check()
    try:
        with progress_line() as progress:
            result = fleet.run(
                plan,
                store=store,
                ray=ray,
                workers=workers,
                again=again,
                recorded=recorded,
                tell=lambda done, total, what: progress.say(f"{done} of {total}: {what}"),
            )
    except Interrupted as stop:
        print_remarks(f"interrupted: {stop.what}")
        raise
    to.write(result)
    if result.exit_code:
        raise typer.Exit(result.exit_code)


@COMMAND.command("status")
@options.list_after(no_color="no_cache")
def status(
    target: TargetArgument,
    *,
    store: StoreOption = None,
    to: Annotated[
        Output,
        output_fields(
            "fleet_status",
            "text, json or markdown: how to write the status.",
            *("file", "html", "no_color"),
            html=typer.Option(
                "--html",
                metavar="FILE",
                help="Also write a page for the team, with answers to all usual questions.",
            ),
        ),
    ],
    no_cache: NoCacheOption = False,
) -> None:
    """Show what a store has, what its runs did and, of a plan, what is missing."""
    from kernelprof.interface import fleet

    to.check()
    result = fleet.status(target, store=store, answers=to.html is not None, cache=not no_cache)
    to.write(result)


@COMMAND.command("query")
@options.list_after(no_color="no_cache")
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
        typer.Option("--sql", metavar="QUERY", help="SQL over the views kernels and launches."),
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
            help="Only what was measured from this day on, such as 2026-11-21 (UTC); for "
            "regressions, those relative to what was measured before it.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="The first N rows; 0 for all.")
    ] = 20,
    to: Annotated[
        Output,
        output_fields(
            "fleet_query",
            "text, json or markdown: how to write the answer.",
            "file",
            "html",
            "no_color",
        ),
    ],
    no_cache: NoCacheOption = False,
) -> None:
    """Ask a store one of the usual questions, or any other in SQL."""
    from kernelprof.interface import fleet

    to.check()
    result = fleet.query(
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
    to.write(result)
