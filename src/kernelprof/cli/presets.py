"""``kernelprof presets``: the metric presets and what is in them."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelprof.cli import screen
from kernelprof.cli.output import write_text


def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show this preset's metrics.")
    ] = None,
) -> None:
    """List the metric presets, or the metrics of one."""
    from kernelprof.analysis.metrics import catalogue
    from kernelprof.report.documents import presets as documents
    from kernelprof.report.writers import terminal

    if name is None:
        document = documents.index(catalogue.presets().values())
    else:
        document = documents.document(catalogue.preset(name))
    write_text(terminal.write(document, screen.of(None, no_color=False)))
