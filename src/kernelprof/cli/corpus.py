"""``kernelprof corpus``: kernels whose bottleneck is known, and how often the verdict is right."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 (Typer reads the annotations)
from typing import TYPE_CHECKING, Annotated

import typer

from kernelprof.cli import screen
from kernelprof.cli.diagnose import OutputFormat
from kernelprof.cli.output import check_place, warn, write_file, write_result, write_text
from kernelprof.cli.report import check_name

if TYPE_CHECKING:
    from kernelprof.corpus.pairs import Pair
    from kernelprof.corpus.scorecard import Scorecard

corpus = typer.Typer(
    no_args_is_help=True,
    help="Kernels whose bottleneck is known from their fix: how often the verdict is right.",
)


NamesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[PAIR]...", help="Only these pairs, by their folder.")
]


@corpus.command("list")
def list_pairs() -> None:
    """List the pairs, each with what was planted."""
    from kernelprof.corpus.listing import pair_table

    write_text(pair_table(_pairs(None)))


@corpus.command("run")
def run(
    names: NamesArgument = None,
    *,
    captures: Annotated[
        Path, typer.Option("--captures", metavar="DIR", help="Write a capture a kernel into it.")
    ],
    everything: Annotated[
        Path | None,
        typer.Option(
            "--everything",
            metavar="DIR",
            help="Also keep the whole raw and details pages of each kernel before its fix.",
        ),
    ] = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Also measure what did not change since.")
    ] = False,
) -> None:
    """Check, time and profile the kernels on this machine's GPU.

    A kernel that fails is told and the others go on; the exit code is then its error's.
    """
    from kernelprof.corpus.measure import Plan, measure

    failures = measure(Plan(_pairs(names), captures, everything, anew), _say)
    for each in failures:
        warn(f"{each.target}: {each.error.what}")
    if failures:
        raise typer.Exit(failures[0].error.exit_code)


@corpus.command("score")
def score(
    names: NamesArgument = None,
    *,
    captures: Annotated[
        Path | None,
        typer.Option(
            "--captures",
            metavar="DIR",
            help="What `corpus run` wrote, instead of what came with kernelprof.",
        ),
    ] = None,
    peers: Annotated[
        Path | None,
        typer.Option(
            "--peers",
            metavar="FILE.json",
            help="What other analyzers said about the same captures.",
        ),
    ] = None,
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="How to write the score.")
    ] = OutputFormat.TEXT,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write into this file.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE.html", help="Also write a page with charts."),
    ] = None,
    halves: Annotated[
        bool,
        typer.Option(
            "--halves", help="Also choose thresholds on random halves and score the others."
        ),
    ] = False,
) -> None:
    """Score the verdicts on captures of the corpus; this needs no GPU.

    A pair is left out, with a warning, where its kernels were not measured as they are now.
    """
    if html is not None:
        check_name(html)
        check_place(html)
    if output is not None:
        check_place(output)
    found = _scored(names, captures, peers, with_halves=halves)
    if found.left_out:
        lacking = f"{len(found.left_out)} of {len(found.left_out) + len(found.rows)} pairs"
        warn(f"{lacking} are left out: not all of their kernels were measured as they are now")
    if html is not None:
        from kernelprof.report.html.corpus import render_corpus_page

        write_file(render_corpus_page(found), html)
    write_result(_render(found, output_format), output)


def _scored(
    names: list[str] | None, captures: Path | None, peers: Path | None, *, with_halves: bool
) -> Scorecard:
    from kernelprof.corpus.peers import read_peers
    from kernelprof.corpus.scorecard import scorecard
    from kernelprof.corpus.stored import FOLDER
    from kernelprof.report.progress import ProgressLine

    others = () if peers is None else read_peers(peers.expanduser())
    with ProgressLine() as progress:
        folder = FOLDER if captures is None else captures.expanduser()
        return scorecard(_pairs(names), folder, others, progress.say, with_halves=with_halves)


def _render(found: Scorecard, output_format: OutputFormat) -> str:
    if output_format is OutputFormat.JSON:
        from kernelprof.report.corpus_json import render_corpus_json

        return render_corpus_json(found)
    if output_format is OutputFormat.MARKDOWN:
        from kernelprof.report.corpus_markdown import render_corpus_markdown

        return render_corpus_markdown(found)
    from kernelprof.report.corpus_text import render_corpus_text

    return render_corpus_text(found, screen.width())


def _pairs(names: list[str] | None) -> tuple[Pair, ...]:
    from kernelprof.corpus.pairs import choose
    from kernelprof.corpus.pairs import corpus as pairs

    return choose(pairs(), names or [])


def _say(line: str) -> None:
    sys.stderr.write(f"kernelprof: {line}\n")
