"""``kernelprof presets``: the metric presets and what is in them."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelprof.cli import options, output

ORDER = 80


def presets(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Show this preset's metrics.",
            autocompletion=options.complete_preset,
        ),
    ] = None,
) -> None:
    """List the metric presets, or the metrics of one."""
    from kernelprof.interface import reference

    shown = reference.presets() if name is None else reference.preset(name)
    output.write_text(output.shown("presets", shown))
