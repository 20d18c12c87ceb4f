"""Options that several commands share, the structures of them, and a program after ``--``.

A parameter of a command that is annotated with :class:`Expand` is a structure:
:func:`expand_options` gives typer a parameter for each of its fields, and the command gets the
structure.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from kernelprof.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., None])

_PROGRAM = "kernelprof.program"


ClockControl = Literal["base", "boost", "none"]
"""What ``ncu`` does to the GPU's clocks."""

HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write an HTML report.")
]
PngOption = Annotated[
    Path | None,
    typer.Option(
        "--png",
        metavar="FILE",
        help="Also write the top of the report as a PNG; needs Chromium.",
    ),
]


def without_prefix(given: str | list[str] | None) -> str | list[str] | None:
    """Names and expressions of ``--kernel`` without the ``regex:`` that ``ncu`` has before them."""
    if isinstance(given, str):
        return given.removeprefix("regex:")
    return given and [each.removeprefix("regex:") for each in given]


KernelOption = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="REGEX",
        help="Only kernels whose name matches REGEX.",
        callback=without_prefix,
    ),
]
LaunchSkipOption = Annotated[
    int | None, typer.Option("--launch-skip", min=0, help="Skip this many launches of a program.")
]
LaunchCountOption = Annotated[
    int | None,
    typer.Option("--launch-count", min=1, help="Measure this many launches of a program."),
]
AgainstOption = Annotated[
    Path | None,
    typer.Option(
        "--against",
        metavar="OLD.cu",
        help="Check results against another version of the kernel.",
    ),
]


PredictOption = Annotated[
    bool,
    typer.Option(
        "--predict",
        help=("Predict a .cu file's counters and verdict from machine code, without a GPU."),
    ),
]
ArchOption = Annotated[
    list[str] | None,
    typer.Option(
        "--arch",
        metavar="sm_90",
        help="Architecture to predict for; separate several with commas, or repeat the option.",
    ),
]


class MeasurementFlags:
    """The options of :class:`kernelprof.interface.requests.MeasurementOptions`."""

    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Write the capture into this directory."),
    ] = None
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing capture in the --keep folder.")
    ] = False
    launch_skip: LaunchSkipOption = None
    launch_count: LaunchCountOption = None
    nvtx_include: Annotated[
        list[str] | None,
        typer.Option("--nvtx-include", metavar="RANGE", help="Only launches in this NVTX range."),
    ] = None
    clock_control: Annotated[
        ClockControl,
        typer.Option(
            "--clock-control",
            help="ncu clock control: `base` locks the GPU clocks; `none` leaves them unlocked.",
        ),
    ] = "none"
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit", metavar="S", min=0.1, help="Stop each run of a program after S seconds."
        ),
    ] = None
    budget: Annotated[
        float,
        typer.Option(
            "--budget",
            metavar="S",
            min=0.0,
            help="After surveying a program, measure it with ncu for about S seconds, costliest "
            "kernels first; 0: survey only.",
        ),
    ] = 120.0
    perfetto: Annotated[
        Path | None,
        typer.Option(
            "--perfetto",
            metavar="FILE",
            help="Write the survey's trace to FILE, for ui.perfetto.dev.",
        ),
    ] = None
    build: Annotated[
        str | None,
        typer.Option(
            "--build",
            metavar="COMMAND",
            help='Command that first builds the program, such as "make app".',
        ),
    ] = None
    flags: Annotated[
        str | None,
        typer.Option(
            "--flags",
            metavar="OPTIONS",
            help='nvcc options for a .cu file with its own main(), such as "-I include -lcublas".',
        ),
    ] = None
    size: Annotated[
        list[str] | None,
        typer.Option(
            "--size",
            metavar="NAME=VALUE",
            help="Override a size in a .cu file's launch specification.",
        ),
    ] = None
    define: Annotated[
        list[str] | None,
        typer.Option(
            "--define",
            metavar="NAME=VALUE",
            help="Override a define in a .cu file's launch specification.",
        ),
    ] = None
    sanitize: Annotated[
        list[str] | None,
        typer.Option(
            "--sanitize",
            metavar="TOOL",
            help="Before measuring a .cu file's kernel, run it under this compute-sanitizer tool: "
            "memcheck, racecheck, initcheck, synccheck.",
        ),
    ] = None
    against: AgainstOption = None


class GateFlags:
    """The options of :class:`kernelprof.interface.requests.GateOptions`."""

    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy",
            metavar="FILE",
            help=(
                "The policy, a TOML file; default: the table tool.kernelprof.gate of "
                "pyproject.toml in the current folder."
            ),
        ),
    ] = None
    proposed_baseline: Annotated[
        Path | None,
        typer.Option(
            "--proposed-baseline",
            metavar="FILE",
            hidden=True,
            help="The pull request's version of BASELINE. The gate lists the differences, but "
            "judges by BASELINE.",
        ),
    ] = None
    proposed_policy: Annotated[
        Path | None,
        typer.Option(
            "--proposed-policy",
            metavar="FILE",
            hidden=True,
            help=(
                "The pull request's version of the policy. The gate lists the differences, but "
                "judges by the current policy. A difference gives exit code 3."
            ),
        ),
    ] = None
    accept_proposed: Annotated[
        bool,
        typer.Option(
            "--accept-proposed",
            hidden=True,
            help="Judge by the proposed policy and baseline, and list what they change.",
        ),
    ] = False
    kernels: Annotated[
        list[str] | None,
        typer.Option(
            "--kernel",
            metavar="REGEX",
            help="Only kernels whose name matches this regular expression; repeatable.",
            callback=without_prefix,
        ),
    ] = None
    rename: Annotated[
        list[str] | None,
        typer.Option(
            "--rename",
            metavar="OLD=NEW",
            help="Compare kernel OLD with NEW; repeatable.",
        ),
    ] = None
    predict: PredictOption = False
    arch: ArchOption = None
    against: AgainstOption = None


class Expand:
    """Metadata of a parameter that is a structure: the class with the options of its fields.

    Of the fields in ``names``, without any of all; ``options`` stand in for single ones.
    """

    def __init__(self, declaration: type, *names: str, **options: Any) -> None:
        self._declaration = declaration
        self._names = names
        self._options = options

    def parameters(self) -> dict[str, inspect.Parameter]:
        """A parameter for each field, in the order of the names, or of the declaration."""
        hints = get_type_hints(self._declaration, include_extras=True)
        defaults = vars(self._declaration)
        return {
            name: inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults[name],
                annotation=self._annotation(name, hints[name]),
            )
            for name in self._names or hints
        }

    def _annotation(self, name: str, annotation: Any) -> Any:
        option = self._options.get(name)
        return annotation if option is None else Annotated[get_args(annotation)[0], option]


_PLACED: Final = "help_places"


def list_after(**after: str) -> Callable[[Command], Command]:
    """Let the help list an option after another one than that of its place in a structure."""

    def note(command: Command) -> Command:
        vars(command)[_PLACED] = after
        return command

    return note


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer takes it: with a parameter for each option of its structures.

    A field that nobody gave is left out of a structure that is a ``TypedDict``.
    """
    parameters: dict[str, inspect.Parameter] = {}
    structures: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        kind, *metadata = get_args(parameter.annotation) or (None,)
        if metadata and isinstance(metadata[0], Expand):
            fields = metadata[0].parameters()
            structures[name] = kind, list(fields)
            parameters |= fields
        else:
            parameters[name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    for name, other in vars(command).get(_PLACED, {}).items():
        names = [each for each in parameters if each != name]
        names.insert(names.index(other) + 1, name)
        parameters = {each: parameters[each] for each in names}

    @wraps(command)
    def called(**given: Any) -> None:
        for name, (kind, names) in structures.items():
            fields = {each: given.pop(each) for each in names}
            given[name] = kind(**{key: each for key, each in fields.items() if each is not None})
        command(**given)

    vars(called)["__signature__"] = inspect.Signature([*parameters.values()])
    called.__annotations__ = {each.name: each.annotation for each in parameters.values()}
    return called


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
    words: tuple[str, ...] | None = ctx.meta.get(_PROGRAM)
    return words


def format_option(kind: str, text: str) -> Any:
    """The option ``--format`` of results of a kind; ``text`` lists what it takes.

    Without it the suffix of ``-o`` chooses: ``.html`` as ``--html`` does.
    """

    def offered(ctx: typer.Context, name: str) -> str:
        from kernelprof.report.writers import find

        if _is_default(ctx, "output_format") and (file := ctx.params.get("file")) is not None:
            name = formats_of(Path(file))[0]  # some versions of Typer: str
            if name == HTML and any(each.name == HTML for each in ctx.command.params):
                return name
        try:
            find(kind, name)
        except UsageError as error:
            raise typer.BadParameter(f"{error.what}; {error.hint}") from error
        return name

    return typer.Option("--format", metavar="FORMAT", help=text, callback=offered)


def _is_default(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "DEFAULT"


HTML: Final = "html"
_FORMATS: Final = {
    ".html": (HTML,),
    ".htm": (HTML,),
    ".json": ("json", "sarif"),
    ".sarif": ("sarif",),
    ".md": ("markdown", "brief"),
    ".markdown": ("markdown",),
    ".csv": ("csv",),
    ".xml": ("junit",),
    ".png": ("png",),
}
_TEXTS: Final = ("text", "brief", "json", "markdown", "sarif", "csv", "junit")


def formats_of(file: Path) -> tuple[str, ...]:
    """Return the formats that a file's suffix stands for, the usual one first."""
    return _FORMATS.get(file.suffix.lower(), _TEXTS)


def preset_option(text: str) -> Any:
    """The option ``--preset`` with its help."""
    return typer.Option("--preset", metavar="NAME", help=text, autocompletion=complete_preset)


def complete_preset(incomplete: str) -> Iterable[str]:
    """The names of presets, for the shell."""
    from kernelprof.interface.reference import presets

    return [name for name in presets() if name.startswith(incomplete)]


def complete_bottleneck(incomplete: str) -> Iterable[str]:
    """The names of bottlenecks, for the shell."""
    from kernelprof.interface.reference import rules

    return [name for name in rules() if name.startswith(incomplete)]
