"""``kernelprof baseline``: the file that the gate holds candidates against."""

from __future__ import annotations

import getpass
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelprof.cli import screen
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
    from kernelprof.cli.sides import load
    from kernelprof.compare.gate.baseline import baseline_of

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
    _write(baseline_of(load(capture)[0], _now()), output)


@baseline.command("show")
def show(file: FileArgument) -> None:
    """Print what a baseline holds, and what was accepted in it."""
    from kernelprof.cli.sides import load_baseline
    from kernelprof.report.documents.baseline import document
    from kernelprof.report.writers import terminal

    shown_on = screen.of(None, no_color=False)
    write_text(terminal.write(document(load_baseline(file)), shown_on))


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
    from kernelprof.cli.sides import load, load_baseline
    from kernelprof.compare import compare
    from kernelprof.compare.gate import judge
    from kernelprof.compare.gate.answer import exit_code
    from kernelprof.compare.gate.baseline import updated
    from kernelprof.compare.gate.policy import load_policy, policy_here
    from kernelprof.report.comparison_text import gate_line

    check_place(file)
    old, new = load_baseline(file), load(candidate)[0]
    result = judge(compare(old.snapshot(str(file)), new), load_policy(policy or policy_here()))
    if code := exit_code(result):
        write_text(f"{gate_line(result)} The baseline stays as it is.\n")
        write_text(f"see why: kernelprof gate {file} {candidate}\n")
        raise typer.Exit(code)
    _write(updated(old, new, _now()), file)


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
    from kernelprof.cli.sides import load, load_baseline
    from kernelprof.compare.gate.baseline import Consent, accepted

    if not reason.strip():
        raise UsageError("--reason is empty", hint="say why, for those who read it in a year")
    check_place(file)
    consent = Consent(by or _who(), reason.strip(), _now())
    _write(accepted(load_baseline(file), load(candidate)[0], kernel or (), consent), file)


@baseline.command("migrate")
def migrate(file: FileArgument) -> None:
    """Bring a baseline of an older schema to the one of today."""
    from kernelprof.cli.sides import load_baseline

    check_place(file)
    _write(load_baseline(file, migrate=True), file)


def _write(made: Baseline, file: Path) -> None:
    from kernelprof.compare.gate.baseline import to_text

    write_file(to_text(made), file)
    kernels = len(made.kernels)
    write_text(f"{file}: {kernels} kernel{'s' if kernels != 1 else ''} of {made.origin}\n")


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _who() -> str:
    """The committer's name as git has it, else the user's."""
    from kernelprof.tools import ask

    told = ask("git", "config", "user.name")
    return (told.stdout.strip() if told else "") or _user()


def _user() -> str:
    """The name of whoever is logged in; a container may know none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
