"""``kernelprof baseline``: the file that the gate holds candidates against."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelprof.cli.output import check_place, write_file, write_text
from kernelprof.errors import UsageError

if TYPE_CHECKING:
    from kernelprof.compare.gate.baseline import Baseline

baseline = typer.Typer(
    no_args_is_help=True,
    help="Baselines: what the kernels of a repository were like when somebody agreed to it.",
)

FileArgument = Annotated[Path, typer.Argument(metavar="BASELINE", help="The baseline file.")]
CandidateArgument = Annotated[
    str, typer.Argument(metavar="CANDIDATE", help="A capture, as `compare` takes it.")
]


@baseline.command("save")
def save(
    capture: Annotated[str, typer.Argument(metavar="CAPTURE", help="As `compare` takes it.")],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.json", help="The file to write.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace a baseline.")] = False,
) -> None:
    """Make a baseline of a capture; not of an inconclusive or incorrect kernel."""
    from kernelprof.compare.gate.run import save as saved

    check_place(output)
    if output.suffix.lower() != ".json":
        raise UsageError(
            "a baseline is a JSON file", where=str(output), hint="name one that ends in .json"
        )
    if output.exists() and not force:
        raise UsageError(
            "there is a file already",
            where=str(output),
            hint="'kernelprof baseline update' takes a candidate that passes the gate, "
            "'baseline accept' one that does not; --force replaces the file",
        )
    _write(saved(capture), output)


@baseline.command("show")
def show(file: FileArgument) -> None:
    """Print what a baseline holds, and what was accepted in it."""
    from kernelprof.cli.compare import screen_of
    from kernelprof.compare.gate.baseline import read_baseline
    from kernelprof.report.documents import baseline as documents
    from kernelprof.report.writers import terminal

    found = documents.document(read_baseline(file), str(file))
    write_text(terminal.write(found, screen_of(None, no_color=False)))


@baseline.command("update")
def update(
    file: FileArgument,
    candidate: CandidateArgument,
    *,
    policy: Annotated[
        Path | None, typer.Option("--policy", metavar="FILE", help="As for `gate`.")
    ] = None,
) -> None:
    """Put a candidate in place of the baseline, if it passes the gate."""
    from kernelprof.compare.gate.run import update as updated
    from kernelprof.compare.words import gate_line

    check_place(file)
    result, made = updated(file, candidate, policy)
    if made is None:
        write_text(f"{gate_line(result)} The baseline stays as it is.\n")
        write_text(f"see why: kernelprof gate {file} {candidate}\n")
        raise typer.Exit(result.exit_code)
    _write(made, file)


@baseline.command("accept")
def accept(
    file: FileArgument,
    candidate: CandidateArgument,
    *,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why it is accepted; kept in the file.")
    ],
    kernel: Annotated[
        list[str] | None,
        typer.Option("--kernel", metavar="NAME", help="Only this kernel, by its whole name."),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="NAME", help="Who accepts; else git knows.")
    ] = None,
) -> None:
    """Take a candidate although the gate stops it, and record who, when and why."""
    from kernelprof.compare.gate.run import accept as accepted

    check_place(file)
    _write(accepted(file, candidate, reason, kernels=kernel or (), by=by), file)


@baseline.command("migrate")
def migrate(file: FileArgument) -> None:
    """Bring a baseline of an older schema to the one of today."""
    from kernelprof.compare.gate.baseline import read_baseline

    check_place(file)
    _write(read_baseline(file, migrate=True), file)


def _write(made: Baseline, file: Path) -> None:
    from kernelprof.compare.gate.baseline import to_text

    write_file(to_text(made), file)
    kernels = len(made.kernels)
    write_text(f"{file}: {kernels} kernel{'s' if kernels != 1 else ''} of {made.origin}\n")
