"""The charts as Vega-Lite specifications without data, and the rows that each of them draws.

A specification stands in a page once; a kernel brings its rows. Colours come from the theme, and
nothing is told by colour alone: points have shapes and names, bars have their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.report.html.charts import memory, occupancy, overview, roofline
from kernelprof.report.html.charts.parts import CONFIG, Row, Spec, bars, share_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.report.html.view import KernelView

__all__ = [
    "CONFIG",
    "TABLES",
    "Row",
    "Spec",
    "overview",
    "roofline",
    "rows",
    "specs",
    "tips",
]

_SPECS: Final = {
    "roofline": roofline.chart,
    "memory": memory.chart,
    "warps": lambda: bars("Share of a warp's time"),
    "pipes": lambda: bars("Utilization"),
    "instructions": lambda: bars("Share of the instructions"),
    "occupancy": occupancy.chart,
    "overview": overview.chart,
}

TABLES: Final[Mapping[str, Sequence[tuple[str, str, str]]]] = {
    "roofline": (("What", "label", "text"), ("Value", "shown", "text")),
    "memory": (
        ("Where", "name", "text"),
        ("Bytes", "text", "text"),
        ("Of the minimum", "multiple", "times"),
        ("Hit rate", "hits", "share"),
    ),
    "warps": (("Reason", "name", "text"), ("Share", "share", "share"), ("Meaning", "name", "tip")),
    "pipes": (("Pipe", "name", "text"), ("Use", "share", "share"), ("Meaning", "name", "tip")),
    "instructions": (
        ("Kind", "name", "text"),
        ("Share", "share", "share"),
        ("Meaning", "name", "tip"),
    ),
    "occupancy": (("Resource", "name", "text"), ("Blocks an SM", "blocks", "number")),
}
"""Each chart's content as a table, made in the page when it is opened: heading, field and form.

A row that lacks the first field is no content.
"""


def specs(kinds: Iterable[str]) -> Mapping[str, Spec]:
    """The charts of a page by the name that a container's ``data-chart`` has."""
    return {kind: _SPECS[kind]() for kind in _SPECS if kind in set(kinds)}


def tips(kernel: KernelView) -> dict[str, str]:
    """What the names in a kernel's charts mean; the same for all kernels."""
    states = kernel.warp_states.states if kernel.warp_states is not None else ()
    return {each.name: each.tip for each in (*states, *kernel.pipes, *kernel.instructions)}


def rows(kernel: KernelView) -> dict[str, list[Row]]:
    """The rows of a kernel's charts; a chart without rows is not drawn."""
    found = {
        "warps": share_rows(kernel.warp_states.states if kernel.warp_states is not None else ()),
        "pipes": share_rows(kernel.pipes),
        "instructions": share_rows(kernel.instructions),
    }
    if kernel.roofline is not None:
        found["roofline"] = roofline.rows(kernel.roofline)
    if kernel.memory is not None:
        found["memory"] = memory.rows(kernel.memory)
    if kernel.occupancy is not None:
        found["occupancy"] = occupancy.rows(kernel.occupancy)
    return {kind: each for kind, each in found.items() if each}
