"""Blocks that each resource allows an SM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.report.charts.parts import FIRST, NAMES, ROW_HEIGHT, Kind, Row, Spec, spec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def rows(limits: Iterable[tuple[str, int]], limiters: Collection[str]) -> tuple[Row, ...]:
    """A bar a resource with its blocks; ``limiters`` stand out."""
    return tuple(
        {"name": name, "blocks": blocks, "first": name in limiters} for name, blocks in limits
    )


def chart() -> Spec:
    """The specification."""
    x: Spec = {
        "field": "blocks",
        "type": "quantitative",
        "title": "Blocks per SM",
        "axis": {"tickMinStep": 1, "tickCount": 5, "format": "d"},
    }
    return spec(
        height={"step": ROW_HEIGHT},
        encoding={"x": x, "y": NAMES},
        layer=[
            {"mark": {"type": "bar", "cornerRadiusEnd": 3}, "encoding": {"color": FIRST}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4},
                "encoding": {"text": {"field": "blocks", "format": "d"}},
            },
        ],
    )


KIND: Final = Kind(
    chart, table=(("Resource", "name", "text"), ("Blocks per SM", "blocks", "number"))
)
