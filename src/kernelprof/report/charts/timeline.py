"""A launch over its time: a lane for each unit, with the ramp, the tail and the phases marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kernelprof.report.charts import axes, drawing
from kernelprof.report.charts.drawing import ChartKind
from kernelprof.report.markup import element

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

LANE: Final = 44
_GAP: Final = 6
_NANO: Final = 1e-9


class Lane(NamedTuple):
    """A unit's percent of peak in equal steps; ``duration`` is in nanoseconds.

    ``edges`` are the parts of the time, 0 to 1, at which the next part of the launch begins.
    """

    name: str
    values: tuple[float, ...]
    duration: float
    edges: tuple[float, ...]


def _draw(rows: Sequence[Lane]) -> Markup:
    scale = axes.AxisScale(0.0, rows[0].duration * _NANO)
    x = axes.Axis(scale, scale.ticks(), lambda value: axes.prefixed(value, "s"), "Time")
    height = LANE * len(rows)
    marks: list[Markup] = []
    for number, row in enumerate(rows):
        marks += _lane(row, LANE * number)
    marks += [drawing.line(each, 0, each, height, "dashed") for each in rows[0].edges]
    return drawing.plot(height, marks, x=x, names=[row.name for row in rows])


def _lane(row: Lane, top: float) -> Iterator[Markup]:
    """Draw steps in a drawing of its own, which is stretched over the width of the plot."""
    steps, tall = len(row.values), LANE - _GAP
    path = [f"M0 {tall}"]
    for at, value in enumerate(row.values):
        path.append(f"V{tall * (1 - min(value, 100.0) / 100):.1f}H{at + 1}")
    path.append(f"V{tall}Z")
    title = element("title", f"{row.name}: {min(row.values):.0f} to {max(row.values):.0f} %")
    area = element("path", title, d="".join(path), class_="launch after")
    yield element(
        "svg",
        area,
        x="0",
        y=f"{top + _GAP:g}",
        width="100%",
        height=f"{tall:g}",
        viewBox=f"0 0 {steps} {tall}",
        preserveAspectRatio="none",
    )
    yield drawing.line(0, top + LANE, 1, top + LANE, "base")


KIND: Final = ChartKind(_draw, wide=True)
