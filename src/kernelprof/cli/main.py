"""Assembles the command line; the only place that turns exceptions into messages and exit codes."""

from __future__ import annotations

import errno
import gc
import inspect
import re
import shlex
import sys
from contextlib import redirect_stderr
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import IO, TYPE_CHECKING, Annotated, Any, Final, cast

import typer
from typer.core import TyperCommand, TyperGroup

from kernelprof import interrupts
from kernelprof.cli import commands
from kernelprof.cli.options import ProgramCommand, expand_options
from kernelprof.cli.output import (
    Harmless,
    OutputClosed,
    print_error,
    reopen_standard_streams,
    write_text,
)
from kernelprof.errors import ExitCode, KernelprofError, Terminated, UsageError
from kernelprof.interrupts import INTERRUPTED
from kernelprof.suggestions import similar_name, suggested_command
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERNAL_ERROR = 70
PIPE_CLOSED = 141


class Commands(TyperGroup):
    """The modules of ``cli/commands``, each loaded when it is asked for."""

    _listing = False
    """While the help of all is written, which shows no options: they take longest to read."""

    def list_commands(self, _: Any) -> list[str]:
        """All names, in the order that the modules give themselves."""
        return sorted(_names(), key=lambda name: _module(name).ORDER)

    def get_command(self, _: Any, name: str) -> Any:
        """The command of this name, if there is one."""
        if name not in _names():
            return None
        module = _module(name)
        group = getattr(module, "COMMAND", None)
        if self._listing:
            text = getattr(module, name).__doc__ if group is None else group.info.help
            return TyperCommand(name, help=_flowing(text))
        if group is None:
            group = typer.Typer(add_completion=False)
            function = getattr(module, name)
            takes_program = "ctx" in function.__annotations__
            group.command(cls=ProgramCommand if takes_program else None)(function)
        for each in group.registered_commands:
            assert each.callback is not None
            each.callback = expand_options(each.callback)
        command = typer.main.get_command(group)
        command.name = name
        for each in (command, *getattr(command, "commands", {}).values()):
            each.help = _flowing(each.help)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is named; of a mistyped one the error has what was meant."""
        name, *others = args
        if name in _names() or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        command = suggested_command(name)
        if command is None and (similar := similar_name(name, _names())) is not None:
            command = f"kernelprof {similar}"
        hint = "kernelprof --help" if command is None else " ".join([command, shlex.join(others)])
        raise UsageError(f"unknown command {name!r}", hint=hint.strip())

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help of all, as wide as the screen."""
        self.help = _flowing(self.help)
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False


def _flowing(text: str | None) -> str | None:
    """A help text without the line breaks of its source: typer keeps those of paragraphs."""
    return None if text is None else re.sub(r"(?<=\S)\n(?=\S)", " ", inspect.cleandoc(text))


def _names() -> list[str]:
    return [module.name for module in iter_modules(commands.__path__)]


def _module(name: str) -> Any:
    return import_module(f"{commands.__name__}.{name}")


app = typer.Typer(
    name="kernelprof", cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False
)


def _print_version(wanted: bool) -> None:
    if wanted:
        write_text(f"kernelprof {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="On an error, show the Python traceback.")
    ] = False,
) -> None:
    """What limits a CUDA kernel, and what is the evidence?

    Exit codes: 0 done, 1 the gate reports a regression, 2 bad input or usage, 3 inconclusive, 4 a
    tool, GPU or permission is missing.
    """
    del version, debug  # --version has answered by now; main() has taken --debug out


_OBJECTS: Final = 500_000
"""New objects after which cycles among them are searched for; Python's own number is 700."""


_TIDIES: Final = "duckdb"
"""Its bindings print what they find alive at the end."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    reopen_standard_streams()
    given = sys.argv[1:] if arguments is None else list(arguments)
    given, debug = _take_debug(given)
    with redirect_stderr(cast("IO[str]", Harmless(sys.stderr))):
        return _answer(given, debug)


def _answer(given: list[str], debug: bool) -> int:
    try:
        return _run(given)
    except OutputClosed:
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Terminated as end:
        return end.code
    except Exception as error:
        return _failed(error, debug)


def _failed(error: Exception, debug: bool) -> int:
    if interrupts.came():  # a library made an error of its own of it
        return INTERRUPTED
    _trace(debug)
    if isinstance(error, KernelprofError):
        print_error(error.what, where=error.where, hint=error.hint)
        return int(error.exit_code)
    if isinstance(error, MemoryError):
        print_error(
            "there is not enough memory", hint="use a smaller input, or a machine with more memory"
        )
        return int(ExitCode.ENVIRONMENT)
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        print_error("a path is longer than the system allows", hint="use a shorter path")
        return int(ExitCode.BAD_INPUT)
    print_error(
        f"internal error: {type(error).__name__}: {error}",
        hint="run the command again with --debug and report the traceback",
    )
    return INTERNAL_ERROR


def run() -> int:
    """The program: :func:`main` in a process that ends with it."""
    # What a command loads stays to its end: searching it for cycles while it grows, and once more
    # at the end, took a fifth of the time that a short one runs.
    gc.set_threshold(_OBJECTS)
    try:
        interrupts.begin()
        code = main()
    except KeyboardInterrupt:
        code = INTERRUPTED
    interrupts.end()
    if _TIDIES not in sys.modules:
        gc.freeze()
    return code


_REPEATED: Final = ("--size", "--define")
_NAME_AND_VALUE: Final = re.compile(r"[A-Za-z_]\w*=\S*")


def _refuse_bare_values(arguments: list[str]) -> None:
    """Refuse ``--size M=1 N=2``: each value takes an option of its own."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    corrected: list[str] = []
    option = bare = ""
    expects = False
    for word in arguments[:end]:
        name = word.partition("=")[0]
        if name in _REPEATED:
            option, expects = name, name == word
        elif expects:
            expects = False
        elif option and _NAME_AND_VALUE.fullmatch(word) and not Path(word).exists():
            bare = bare or word
            corrected.append(option)
        else:
            option = ""
        corrected.append(word)
    if bare:
        raise UsageError(
            f"{bare!r} needs its own --size or --define",
            hint=shlex.join(["kernelprof", *corrected, *arguments[end:]]),
        )


def _run(arguments: list[str]) -> int:
    """Let typer parse and call; it answers usage errors by itself and always exits."""
    _refuse_bare_values(arguments)
    try:
        typer.main.get_command(app)(args=arguments, prog_name="kernelprof")
    except SystemExit as stop:
        if isinstance(stop.__context__, OSError):
            raise OutputClosed from stop
        return stop.code if isinstance(stop.code, int) else 0
    return 0


def _take_debug(arguments: list[str]) -> tuple[list[str], bool]:
    """Take ``--debug`` out, wherever it stands before a program's own arguments."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    ours = [argument for argument in arguments[:end] if argument != "--debug"]
    return [*ours, *arguments[end:]], len(ours) < end


def _trace(debug: bool) -> None:
    if debug:
        import traceback

        traceback.print_exc()
