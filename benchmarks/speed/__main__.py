"""Measure how fast kernelprof is: ``python -m benchmarks.speed [CASE ...]``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.speed.cases import CASES, Setting
from benchmarks.speed.contestants import find_libraries
from benchmarks.speed.facts import facts
from benchmarks.speed.outcome import Outcome
from benchmarks.speed.rounds import measure
from benchmarks.speed.table import as_json, markdown, markdown_facts
from benchmarks.speed.work import Work

from kernelprof.errors import ExitCode, KernelprofError

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER: Final = Path("build", "speed")
LONG: Final = "million"
"""The case that takes minutes and gigabytes, and is not run unasked."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; an error is told in a sentence and gives its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if LONG in options.cases and not options.million:
        parser.error(f"the case {LONG} takes minutes and 2.3 GB of disk: say --million as well")
    names = options.cases or [name for name in CASES if name != LONG or options.million]
    try:
        _run(options, list(dict.fromkeys(names)))
    except KernelprofError as error:
        where = f"{error.where}: " if error.where else ""
        hint = f"\n{error.hint}" if error.hint else ""
        sys.stderr.write(f"benchmarks.speed: {where}{error.what}{hint}\n")
        return int(error.exit_code)
    except OSError as error:
        sys.stderr.write(f"benchmarks.speed: {error.filename}: {error.strerror}\n")
        return int(ExitCode.BAD_INPUT)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed",
        description="How long kernelprof takes, beside pandas, polars, pyarrow and Fournex.",
    )
    parser.add_argument(
        "cases",
        nargs="*",
        choices=CASES,
        metavar="CASE",
        help=f"{', '.join(CASES)} (default: all, {LONG} with --million only)",
    )
    parser.add_argument("--million", action="store_true", help=f"allow the case {LONG}")
    parser.add_argument(
        "--repeats",
        type=whole_number,
        default=5,
        metavar="N",
        help="rounds of all contestants (default: %(default)s)",
    )
    parser.add_argument(
        "--scale",
        type=factor,
        default=1.0,
        metavar="F",
        help="times so many launches and kernels in the files that are made (default: 1)",
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=FOLDER,
        metavar="DIR",
        help="where files are made and kept (default: %(default)s)",
    )
    parser.add_argument(
        "--readers",
        default=sys.executable,
        metavar="PYTHON",
        help="an interpreter with pandas, polars and pyarrow (default: this one)",
    )
    parser.add_argument(
        "--fournex", type=Path, metavar="EXE", help="the console script of an installed Fournex"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="also write every run as JSON"
    )
    return parser


def whole_number(text: str) -> int:
    """How many rounds; argparse names the function where the text is no number."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("there must be one round at least")
    return number


def factor(text: str) -> float:
    """By how much there are fewer launches."""
    number = float(text)
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError("it must be above 0 and 1 at most")
    return number


def _run(options: argparse.Namespace, names: Sequence[str]) -> None:
    options.work.mkdir(parents=True, exist_ok=True)
    libraries = find_libraries(options.readers, options.work)
    setting = Setting(Work(options.work, _tell), libraries, options.fournex, options.scale)
    machine = facts(libraries)
    _show(markdown_facts(machine | {"rounds": str(options.repeats)}))
    if options.scale != 1:
        _show(f"- scale: {options.scale:g} (targets are meant for 1)\n")
    outcomes = []
    for name in names:
        outcomes.append(_measured(name, setting, options.repeats))
        _show("\n" + markdown(outcomes[-1]))
    if options.output is not None:
        report = {
            "machine": machine,
            "repeats": options.repeats,
            "scale": options.scale,
            "cases": {outcome.name: as_json(outcome) for outcome in outcomes},
        }
        text = json.dumps(report, indent=1, ensure_ascii=False) + "\n"
        options.output.write_text(text, encoding="utf-8")


def _measured(name: str, setting: Setting, repeats: int) -> Outcome:
    case = CASES[name](setting)
    measured = measure(
        case.contestants,
        repeats,
        setting.work.folder,
        unmeasured=case.unmeasured,
        tell=lambda line: _tell(f"{name}: {line}"),
    )
    return Outcome(name, case.title, measured, case.targets, case.bases, case.file_bytes)


def _show(text: str) -> None:
    """At once, since the next table may be minutes away."""
    sys.stdout.write(text)
    sys.stdout.flush()


def _tell(line: str) -> None:
    sys.stderr.write(f"benchmarks.speed: {line}\n")


if __name__ == "__main__":
    sys.exit(main())
