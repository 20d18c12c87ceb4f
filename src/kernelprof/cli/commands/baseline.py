"""``kernelprof baseline``: the file that the gate holds candidates against."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelprof.cli import options, output
from kernelprof.cli.progress import progress_line
from kernelprof.errors import UsageError
from kernelprof.interface.requests import BaselineOptions  # noqa: TC001 (typer reads the types)

if TYPE_CHECKING:
    from kernelprof.comparison.gate.baseline import Baseline

ORDER = 60
COMMAND = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Manage baselines: the accepted results of a repository's kernels.",
)

FileArgument = Annotated[Path, typer.Argument(metavar="BASELINE", help="The baseline file.")]
CandidateArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="CANDIDATE",
        help="A capture, in any format that `compare` accepts. Several captures count as runs of "
        "the same code.",
    ),
]
PolicyOption = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="The gate's policy file; see `gate --help`."),
]


@COMMAND.command("save")
def save(
    capture: Annotated[
        list[str],
        typer.Argument(
            metavar="CAPTURE",
            help="A capture, in any format that `compare` accepts; with --predict, .cu files. "
            "Several captures count as runs of the same code.",
        ),
    ],
    *,
    file: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.json", help="The file to write.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing baseline.")] = False,
    recorded: Annotated[
        BaselineOptions,
        options.Expand(
            options.GateFlags,
            *("kernels", "policy", "predict", "arch"),
            policy=typer.Option(
                "--policy", metavar="FILE", help="The gate's policy file; see `gate --help`."
            ),
        ),
    ],
) -> None:
    """Write a baseline from a capture, or from several runs of the same code.

    Wrong results, damaged captures, and captures in which inconclusive kernels take most of the
    time are refused. Other inconclusive kernels are judged only by time and counters. With
    --predict, the baseline stores the predicted counters of .cu files, for each --arch.
    """
    from kernelprof.interface import baselines
    from kernelprof.locks import held

    output.check_place(file)
    if file.suffix.lower() != ".json":
        raise UsageError(
            "a baseline is a JSON file", where=str(file), hint="use a name that ends in .json"
        )
    if not force:
        _refuse_existing(file)
    made = baselines.save(capture, warn=output.warn, progress=progress_line(), **recorded)
    with held(file):
        if not force:
            _refuse_existing(file)
        output.write_file(baselines.text(made), file)
    _report(made, file)


@COMMAND.command("show")
def show(file: FileArgument) -> None:
    """Print the kernels of a baseline, and the regressions that were accepted into it."""
    from kernelprof.interface.baselines import read

    output.write_text(output.shown("baseline", read(file), origin=str(file)))


@COMMAND.command("update")
def update(
    file: FileArgument,
    candidate: CandidateArgument,
    *,
    policy: PolicyOption = None,
) -> None:
    """Replace the baseline with a candidate, if the candidate passes the gate."""
    from kernelprof.interface import baselines

    output.check_place(file)
    result, made = baselines.update(
        file, candidate, policy, progress=progress_line(), write=output.write_file
    )
    if made is None:
        output.write_lines(
            f"{result.line} The baseline is unchanged.",
            f"see why: {shlex.join(['kernelprof', 'gate', str(file), *candidate])}",
        )
        raise typer.Exit(result.exit_code)
    _report(made, file)


@COMMAND.command("accept")
def accept(
    file: FileArgument,
    candidate: CandidateArgument,
    *,
    reason: Annotated[
        str,
        typer.Option(
            "--reason",
            metavar="TEXT",
            help="Why the candidate is accepted; stored in the baseline.",
        ),
    ],
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            "--kernel", metavar="NAME", help="Accept only the kernel with this full name."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="NAME", help="Who accepts the candidate; default: git's user.name."
        ),
    ] = None,
) -> None:
    """Accept a candidate that the gate rejects, and record who, when and why."""
    from kernelprof.interface import baselines

    output.check_place(file)
    made = baselines.accept(
        file,
        candidate,
        reason,
        kernels=kernel or (),
        by=by,
        progress=progress_line(),
        write=output.write_file,
    )
    _report(made, file, accepted=", ".join(candidate))


@COMMAND.command("calibrate")
def calibrate(
    file: FileArgument,
    captures: Annotated[
        list[str],
        typer.Argument(
            metavar="CAPTURE",
            help="Two or more captures of the baseline's code, in any format that `compare` "
            "accepts.",
        ),
    ],
) -> None:
    """Measure the noise over captures of the baseline's code, and store it in the baseline."""
    from kernelprof.interface import baselines

    output.check_place(file)
    made, too_few = baselines.calibrate(file, captures, write=output.write_file)
    for kernel in made.kernels:
        if kernel.noise is not None:
            varying = (
                f"; varying counters: {', '.join(kernel.noise.varying)}"
                if kernel.noise.varying
                else ""
            )
            output.write_lines(
                f"{kernel.name}: median times differ by up to {100 * kernel.noise.floor:.3g} % "
                f"over {kernel.noise.captures} captures, including the baseline's{varying}"
            )
    for name in too_few:
        output.write_lines(
            f"{name}: noise not measured; too few captures contain times of this kernel"
        )


def _refuse_existing(file: Path) -> None:
    if file.exists():
        raise UsageError(
            "the file exists",
            where=str(file),
            hint="to store a candidate that passes the gate: 'kernelprof baseline update'; to "
            "store a candidate that fails: 'kernelprof baseline accept'; to replace the file: "
            "--force",
        )


def _report(made: Baseline, file: Path, *, accepted: str | None = None) -> None:
    from kernelprof.model.numbers import count

    source = f" from {made.origin}" if accepted is None else f", accepted from {accepted}"
    output.write_lines(f"{file}: {count(len(made.kernels), 'kernel')}{source}")
