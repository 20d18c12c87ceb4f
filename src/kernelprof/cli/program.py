"""A command that takes a program and its arguments after ``--``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

if TYPE_CHECKING:
    import typer

_PROGRAM = "kernelprof.program"


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
