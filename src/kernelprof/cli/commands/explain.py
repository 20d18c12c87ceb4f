"""``kernelprof explain``: a bottleneck's page, from its rule."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelprof.cli import options, output

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
        str, options.format_option("rule", "Output format: text, brief or markdown.")
    ] = "text",
) -> None:
    """Explain a bottleneck: what it is, why it matters, what to do, when the verdict is wrong.

    Without a name, list all bottlenecks.
    """
    from kernelprof.interface import reference

    shown = reference.rules() if name is None else reference.find_rule(name)
    output.write_text(output.shown("rule", shown, output_format))
