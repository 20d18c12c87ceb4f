"""Options that several commands share, and a program after ``--``."""

from __future__ import annotations

from collections.abc import Iterable  # noqa: TC003 (typer reads the types)
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from kernelprof.errors import UsageError
from kernelprof.interface import reference

_PROGRAM = "kernelprof.program"


ClockControl = Literal["base", "boost", "none"]
"""What ``ncu`` does to the GPU's clocks."""

OutputOption = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write into this file.")
]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write a report for a browser.")
]
PngOption = Annotated[
    Path | None,
    typer.Option(
        "--png",
        metavar="FILE",
        help="Also write the top of the report as a picture, with a Chromium that is installed.",
    ),
]
NoColorOption = Annotated[bool, typer.Option("--no-color", help="No color.")]
TokensOption = Annotated[
    int | None,
    typer.Option(
        "--tokens",
        metavar="N",
        min=200,
        help="How many tokens of four bytes `--format brief` may have; without it 800.",
    ),
]
KernelOption = Annotated[
    str | None, typer.Option("--kernel", metavar="REGEX", help="Only kernels whose name matches.")
]
LaunchSkipOption = Annotated[
    int | None, typer.Option("--launch-skip", min=0, help="Leave out a program's first launches.")
]
LaunchCountOption = Annotated[
    int | None,
    typer.Option("--launch-count", min=1, help="Measure this many launches of a program."),
]
NvtxOption = Annotated[
    list[str] | None,
    typer.Option("--nvtx-include", metavar="RANGE", help="Only launches in this NVTX range."),
]
ClockOption = Annotated[
    ClockControl,
    typer.Option(
        "--clock-control",
        help="What ncu does to the GPU's clocks: nothing, or lock them for repeatable times.",
    ),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option(
        "--time-limit", metavar="S", min=0.1, help="End a run of a program after S seconds."
    ),
]
BudgetOption = Annotated[
    float,
    typer.Option(
        "--budget",
        metavar="S",
        min=1.0,
        help="Measure a surveyed program within about S seconds: the costliest kernels come first.",
    ),
]
BuildOption = Annotated[
    str | None,
    typer.Option("--build", metavar="COMMAND", help='Build the program before: "make app".'),
]
FlagsOption = Annotated[
    str | None,
    typer.Option(
        "--flags",
        metavar="OPTIONS",
        help='Options of nvcc for a .cu file with its own main: "-I include -lcublas".',
    ),
]
SizeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--size", metavar="NAME=VALUE", help="Another value for one of a .cu file's sizes."
    ),
]
DefineOption = Annotated[
    list[str] | None,
    typer.Option("--define", metavar="NAME=VALUE", help="Another value for one of its defines."),
]
AgainstOption = Annotated[
    Path | None,
    typer.Option(
        "--against",
        metavar="OLD.cu",
        help="Another version of the kernel: its results are what the kernel's have to be.",
    ),
]
SanitizeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--sanitize",
        metavar="TOOL",
        help="Run a .cu file's kernel under this tool of compute-sanitizer before it is measured: "
        "memcheck, racecheck, initcheck, synccheck.",
    ),
]


KernelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel",
        metavar="REGEX",
        help="Only kernels whose name matches this regular expression; can be given more often.",
    ),
]
RenameOption = Annotated[
    list[str] | None,
    typer.Option(
        "--rename",
        metavar="OLD=NEW",
        help="A kernel has another name after the change; can be given more often.",
    ),
]


PredictOption = Annotated[
    bool,
    typer.Option(
        "--predict",
        help="Predict a .cu file's kernel from its machine code: no GPU, nothing is measured.",
    ),
]
ArchOption = Annotated[
    list[str] | None,
    typer.Option(
        "--arch",
        metavar="sm_90",
        help="What a prediction is for; several with commas between, or given more often.",
    ),
]


class ProgramCommand(TyperCommand):
    """Keeps what follows ``--`` apart from the command's own arguments, untouched."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what stands before ``--``; remember the rest."""
        if "--" in args:
            end = args.index("--")
            ctx.meta[_PROGRAM] = tuple(args[end + 1 :])
            args = args[:end]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Show in the usage line that a program may follow."""
        return [*super().collect_usage_pieces(ctx), "[-- APP ARGS...]"]


def program(ctx: typer.Context) -> tuple[str, ...] | None:
    """The program and its arguments; ``None`` where there is no ``--``."""
    found: tuple[str, ...] | None = ctx.meta.get(_PROGRAM)
    return found


def format_option(kind: str, text: str) -> Any:
    """The option ``--format`` of results of a kind; ``text`` lists what it takes."""

    def offered(name: str) -> str:
        from kernelprof.report.writers import find

        try:
            find(kind, name)
        except UsageError as error:
            raise typer.BadParameter(f"{error.what}; {error.hint}") from error
        return name

    return typer.Option("--format", metavar="FORMAT", help=text, callback=offered)


def preset_option(text: str) -> Any:
    """The option ``--preset`` with its help."""
    return typer.Option("--preset", metavar="NAME", help=text, autocompletion=complete_preset)


def complete_preset(incomplete: str) -> Iterable[str]:
    """The names of presets, for the shell."""
    return [name for name in reference.presets() if name.startswith(incomplete)]


def complete_bottleneck(incomplete: str) -> Iterable[str]:
    """The names of bottlenecks, for the shell."""
    return [name for name in reference.rules() if name.startswith(incomplete)]
