"""How often the verdict is right: ``python -m benchmarks.corpus list | run | score``."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.corpus.pairs import Form, all_pairs, choose

from benchmarks import command

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.corpus.pairs import Pair
    from benchmarks.corpus.scorecard import Scorecard

PROGRAM: Final = "benchmarks.corpus"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands; an error is printed in a sentence and gives its exit code."""
    options = _parser().parse_args(arguments)
    work: Callable[[argparse.Namespace], int] = options.work
    return command.run(PROGRAM, lambda: work(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {PROGRAM}",
        description="Kernels whose bottleneck is known from their fix: how often the verdict is "
        "right.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listed = commands.add_parser("list", help="list the pairs, each with what was planted")
    listed.set_defaults(work=_list, pairs=())

    run = commands.add_parser("run", help="check, time and profile the kernels on this GPU")
    run.set_defaults(work=_run)
    run.add_argument(
        "--captures", type=Path, required=True, metavar="DIR", help="write a capture a kernel there"
    )
    run.add_argument(
        "--everything",
        type=Path,
        metavar="DIR",
        help="also keep the whole raw and details pages of each kernel before its fix",
    )
    run.add_argument("--anew", action="store_true", help="also measure what did not change since")
    run.add_argument(
        "--python",
        default=sys.executable,
        metavar="PYTHON",
        help="what has PyTorch and Triton (default: the Python that this runs with)",
    )

    score = commands.add_parser("score", help="score the verdicts on captures; needs no GPU")
    score.set_defaults(work=_score)
    score.add_argument(
        "--captures",
        type=Path,
        metavar="DIR",
        help="what `run` wrote, instead of what comes with kernelprof",
    )
    score.add_argument("--peers", type=Path, metavar="FILE.json", help="what other analyzers said")
    score.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    score.add_argument("-o", "--output", type=Path, metavar="FILE", help="write into this file")
    score.add_argument("--html", type=Path, metavar="FILE", help="also write a page with charts")
    score.add_argument(
        "--halves",
        action="store_true",
        help="also choose thresholds on random halves of the pairs and score the others",
    )
    for each in (run, score):
        each.add_argument("pairs", nargs="*", metavar="PAIR", help="only these, by their folder")
    for each in (listed, run, score):
        each.add_argument(
            "--only",
            choices=tuple(_ONLY),
            help="only kernels in CUDA, or only what PyTorch and Triton launch",
        )
    return parser


_ONLY: Final = {"kernels": Form.KERNEL, "frameworks": Form.SCRIPT}


def _list(options: argparse.Namespace) -> int:
    sys.stdout.write(pair_table(_pairs(options)))
    return 0


def pair_table(pairs: Sequence[Pair]) -> str:
    """A line a pair: its folder, its kind, and the bottleneck that it is about."""
    wide = max((len(pair.name) for pair in pairs), default=0)
    lines = [f"{pair.name:<{wide}}  {pair.kind:<8}{_about(pair)}" for pair in pairs]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _about(pair: Pair) -> str:
    if pair.second is not None:
        return f"{pair.bottleneck} and {pair.second}"
    return f"not {', '.join(pair.never)}" if pair.never else pair.bottleneck or ""


def _run(options: argparse.Namespace) -> int:
    """A kernel that fails is reported and the others go on; the exit code is its error's."""
    from benchmarks.corpus.measure import Plan, measure

    plan = Plan(_pairs(options), options.captures, options.everything, options.anew, options.python)
    failures = measure(plan, _say)
    for each in failures:
        _say(f"warning: {each.target}: {each.error.what}")
    return int(failures[0].error.exit_code) if failures else 0


def _score(options: argparse.Namespace) -> int:
    """A pair is left out, with a warning, if its kernels were not measured as they are now."""
    for place in (options.output, options.html):
        command.check_place(place)
    found = _scored(options)
    if found.left_out:
        lacking = f"{len(found.left_out)} of {len(found.left_out) + len(found.rows)} pairs"
        _say(f"warning: {lacking} are left out: not measured as they are now")
    if options.html is not None:
        command.write(written(found, "html"), options.html)
    command.write(written(found, options.format), options.output)
    return 0


def _scored(options: argparse.Namespace) -> Scorecard:
    from benchmarks.corpus.peers import read_peers
    from benchmarks.corpus.scorecard import scorecard

    from kernelprof.report.progress import ProgressLine

    peers = () if options.peers is None else read_peers(options.peers)
    with ProgressLine() as progress:
        return scorecard(
            _pairs(options),
            options.captures,
            peers,
            progress.say,
            with_halves=options.halves,
        )


def written(card: Scorecard, form: str) -> str:
    """The score in a format."""
    from benchmarks.corpus.results import to_json

    if form == "json":
        return to_json(card)
    from benchmarks.corpus.document import document

    from kernelprof.report.writers import Screen, html, markdown, terminal

    if form == "text":
        return terminal.write(document(card), Screen(shutil.get_terminal_size().columns))
    if form == "markdown":
        return markdown.write(document(card), largest=None, level=1)
    return html.write(document(card))


def _pairs(options: argparse.Namespace) -> tuple[Pair, ...]:
    form = _ONLY.get(options.only)
    pairs = choose(all_pairs(), options.pairs)
    return tuple(pair for pair in pairs if form is None or pair.form is form)


def _say(line: str) -> None:
    sys.stderr.write(f"{PROGRAM}: {line}\n")


if __name__ == "__main__":
    sys.exit(main())
