"""Blocks that each resource allows an SM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.report.charts.parts import (
    BAR,
    FIRST,
    NAMES,
    ROW_HEIGHT,
    Kind,
    Row,
    Spec,
    axis,
    behind,
    layer,
    spec,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def rows(limits: Iterable[tuple[str, int]], limiters: Collection[str]) -> tuple[Row, ...]:
    """A bar a resource with its blocks; ``limiters`` stand out."""
    return tuple(
        {"name": name, "blocks": blocks, "first": name in limiters} for name, blocks in limits
    )


def chart() -> Spec:
    """The specification."""
    ticks = {"tickMinStep": 1, "tickCount": 5, "format": "d"}
    text = {"field": "blocks", "format": "d"}
    return spec(
        height={"step": ROW_HEIGHT},
        encoding={"x": axis("blocks", "Blocks per SM", axis=ticks), "y": NAMES},
        layer=[layer("", BAR, color=FIRST), behind(text)],
    )


KIND: Final = Kind(
    chart, table=(("Resource", "name", "text"), ("Blocks per SM", "blocks", "number"))
)
