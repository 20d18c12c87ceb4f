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
    from kernelprof.report.preset_pages import preset_list, preset_page

    if name is None:
        write_text(preset_list(catalogue.presets().values(), width=screen.width()))
    else:
        write_text(preset_page(catalogue.preset(name), width=screen.width()))
