"""Predictions beside measurements: ``python -m benchmarks.predict run | calibrate | write``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.predict.kernels import choose

from benchmarks import command

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROGRAM: Final = "benchmarks.predict"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands; an error is printed in a sentence and gives its exit code."""
    options = _parser().parse_args(arguments)
    work: Callable[[argparse.Namespace], int] = options.work
    return command.run(PROGRAM, lambda: work(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {PROGRAM}",
        description="Every kernel of this repository predicted, beside what an H200 measured.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="predict what is not known yet")
    run.set_defaults(work=_run)
    run.add_argument("--workers", type=int, default=1, metavar="N", help="so many at a time")
    run.add_argument("--anew", action="store_true", help="also what is known")
    write = commands.add_parser("write", help="write the report of what is known; nothing is run")
    write.set_defaults(work=_write)
    write.add_argument("-o", "--output", type=Path, metavar="FILE", help="write into this file")
    calibrate = commands.add_parser(
        "calibrate", help="write how far models are off on what is known; then run again"
    )
    calibrate.set_defaults(work=_calibrate)
    for each in (run, calibrate, write):
        each.add_argument("kernels", nargs="*", metavar="TEXT", help="only those whose path has it")
    return parser


def _run(options: argparse.Namespace) -> int:
    from benchmarks.predict.outcomes import predicted

    predicted(choose(options.kernels), _say, workers=options.workers, anew=options.anew)
    return 0


def _calibrate(options: argparse.Namespace) -> int:
    from benchmarks.predict.beside import beside
    from benchmarks.predict.calibrate import calibrated, modelled, to_toml
    from benchmarks.predict.outcomes import kept

    from kernelprof.prediction.metrics import MODEL_ERRORS

    chosen = choose(options.kernels)
    command.write(to_toml(calibrated(modelled(beside(chosen, kept(chosen))))), MODEL_ERRORS)
    return 0


def _write(options: argparse.Namespace) -> int:
    from benchmarks.predict.beside import beside
    from benchmarks.predict.document import document
    from benchmarks.predict.outcomes import kept

    from kernelprof.report.writers import markdown

    command.check_place(options.output)
    chosen = choose(options.kernels)
    found = beside(chosen, kept(chosen))
    command.write(markdown.write(document(found), largest=None, level=1), options.output)
    return 0


def _say(line: str) -> None:
    sys.stderr.write(f"{PROGRAM}: {line}\n")


if __name__ == "__main__":
    sys.exit(main())
