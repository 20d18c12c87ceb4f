"""``kernelprof explain``: a bottleneck's page, from its rule."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelprof.cli import options, output
from kernelprof.errors import UsageError

ORDER = 100


def explain(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="A bottleneck's name, as in a verdict.",
            autocompletion=options.complete_bottleneck,
        ),
    ] = None,
    output_format: Annotated[
        str, options.format_option("rule", "text, brief or markdown: how to write the page.")
    ] = "text",
) -> None:
    """Explain a bottleneck: what it is, why it matters, what to do, when the verdict is wrong.

    Without a name, list all bottlenecks.
    """
    from kernelprof.interface import reference

    rules = reference.rules()
    if name is not None and name not in rules:
        raise UsageError(f"no bottleneck is called {name!r}", hint=_suggestion(name, list(rules)))
    shown = rules if name is None else rules[name]
    output.write_text(output.shown("rule", shown, output_format))


def _suggestion(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, names, n=3, cutoff=0.5)
    listing = "'kernelprof explain' lists all"
    return f"did you mean {' or '.join(close)}? {listing}" if close else listing
