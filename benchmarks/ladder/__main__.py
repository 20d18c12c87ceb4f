"""Measurements on a climbed ladder: ``python -m benchmarks.ladder run | drilldown | sweep``."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks import command
from benchmarks.ladder import documents, measure
from kernelprof.errors import InputError
from kernelprof.ladder.results import from_json
from kernelprof.model.records import to_json
from kernelprof.report.writers import markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.ladder.results import Climb

PROGRAM: Final = "benchmarks.ladder"
REPORTS: Final = {
    "drilldown": (documents.drilldown, "what the drill-down costs beside ncu --set full"),
    "sweep": (documents.sweep, "other block shapes, and the figures that others published"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands; an error is printed in a sentence and gives its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(given)
    typed = shlex.join(["python", "-m", PROGRAM, *given])
    work = _run if options.command == "run" else _report
    return command.run(PROGRAM, lambda: work(options, typed))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {PROGRAM}",
        description="What the drill-down saves on the GEMM ladder, and what other block shapes "
        "bring.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    run = commands.add_parser("run", help="measure on this machine's GPU")
    run.add_argument("climb", type=Path, metavar="LADDER.json", help="what `ladder run` kept")
    run.add_argument("--full-set", action="store_true", help="also run ncu --set full")
    run.add_argument("--sweep", action="store_true", help="also time every rung's variants")
    run.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.json")
    for name, (_, text) in REPORTS.items():
        report = commands.add_parser(name, help=f"report {text}")
        report.add_argument("climb", type=Path, metavar="LADDER.json")
        report.add_argument("measured", type=Path, metavar="FILE.json", help="what `run` wrote")
        report.add_argument("-o", "--output", type=Path, metavar="FILE.md")
    return parser


def _run(options: argparse.Namespace, typed: str) -> int:
    command.check_place(options.output)
    wanted = measure.Wanted(_climb(options), typed, options.full_set, options.sweep)
    found = measure.measure(wanted, _say)
    command.write(to_json(found), options.output)
    troubles = [error for each in found.rungs for error in each.troubles()]
    for each in troubles:
        _say(f"warning: {each.where or 'the ladder'}: {each.what}")
    return troubles[0].exit_code if troubles else 0


def _report(options: argparse.Namespace, typed: str) -> int:
    del typed
    command.check_place(options.output)
    climb = _climb(options)
    measured = measure.from_json(_text(options.measured), str(options.measured))
    document, _ = REPORTS[options.command]
    text = markdown.write(document(climb, measured), largest=None, level=1)
    command.write(text, options.output)
    return 0


def _climb(options: argparse.Namespace) -> Climb:
    return from_json(_text(options.climb), str(options.climb))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"it cannot be read: {reason}", where=str(path)) from error


def _say(line: str) -> None:
    sys.stderr.write(f"{PROGRAM}: {line}\n")


if __name__ == "__main__":
    sys.exit(main())
