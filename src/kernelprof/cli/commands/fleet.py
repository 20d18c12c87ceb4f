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
    typer.Option(
        "--store", metavar="PLACE", help="A folder or URL to use instead of the plan's store."
    ),
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Neither read nor write the cache.")
]
TargetArgument = Annotated[
    str,
    typer.Argument(metavar="STORE", help="A store's folder or URL, or a plan that names a store."),
]


@COMMAND.command("run")
def run(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN.toml", help="What to measure, and on which GPUs.")
    ],
    *,
    store: StoreOption = None,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            metavar="ADDRESS",
            help="Ray cluster address: HOST:PORT or `auto`; `local` starts Ray on this machine.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            min=1,
            help=(
                "Number of builds and diagnoses that run at the same time on the CPU; default: "
                "one per core."
            ),
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Measure stored jobs again.")] = False,
    recorded: Annotated[
        bool,
        typer.Option(
            "--recorded", help="Use recorded captures instead of measuring; needs no GPU."
        ),
    ] = False,
    to: Annotated[
        Output,
        output_fields(
            "fleet_run",
            "Output format: text, json or markdown.",
            "file",
            "html",
            "no_color",
        ),
    ],
) -> None:
    """Measure the jobs of a plan that are not in its store, and store them.

    Stored jobs are not measured again, nor are kernels with the same machine code and launch as a
    stored kernel. An interrupted run continues where it stopped. The exit code is that of the first
    failed job.
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
            "Output format: text, json or markdown.",
            *("file", "html", "no_color"),
            html=typer.Option(
                "--html",
                metavar="FILE",
                help="Also write an HTML page that answers all built-in questions.",
            ),
        ),
    ],
    no_cache: NoCacheOption = False,
) -> None:
    """Show the contents of a store, its runs and the missing jobs of a plan."""
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
            help="regressions: which kernels got slower, and since when. potential: how much "
            "time could be saved in each kernel. sweep: the fastest defines of each sweep.",
            show_default=False,
        ),
    ] = None,
    *,
    sql: Annotated[
        str | None,
        typer.Option(
            "--sql", metavar="QUERY", help="SQL query over the views `kernels` and `launches`."
        ),
    ] = None,
    store: StoreOption = None,
    kernel: options.KernelOption = None,
    gpu: Annotated[
        str | None,
        typer.Option("--gpu", metavar="NAME", help="Only GPUs whose name contains NAME."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="DATE",
            help="Only measurements since DATE (UTC), such as 2026-11-21. `regressions` "
            "compares them with earlier measurements.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="The first N rows; 0 for all.")
    ] = 20,
    to: Annotated[
        Output,
        output_fields(
            "fleet_query",
            "Output format: text, json or markdown.",
            "file",
            "html",
            "no_color",
        ),
    ],
    no_cache: NoCacheOption = False,
) -> None:
    """Query a store with one of the built-in questions, or with SQL."""
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
