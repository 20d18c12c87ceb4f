"""Predicted against measured gains of the corpus, and the band in which a prediction is near."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from benchmarks.corpus.score import NEAR

from kernelprof.model.numbers import factor
from kernelprof.report import charts
from kernelprof.report.charts import axes, drawing
from kernelprof.report.charts.drawing import ACCENT, ChartKind, tidy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

Row = dict[str, Any]
NAME: Final = "gains"
HEIGHT: Final = 420
_ROOM: Final = 1.15
"""Factor by which the scales go beyond the points."""

_LOOKS: Final = {True: (ACCENT, "circle"), False: ("var(--failed)", "triangle-up")}
"""A point within the band, and one outside."""

_TOLD: Final = (
    ("verdict", "Verdict"),
    ("confidence", "Confidence"),
    ("promised", "Predicted"),
    ("brought", "Fix brought"),
    ("off", "Off by"),
)


@dataclass(frozen=True, slots=True)
class Point:
    """A right verdict: factors of run time that it promised and that the fix brought.

    ``error`` is the factor between the two, 1 or more.
    """

    name: str
    verdict: str
    confidence: str
    predicted: float
    measured: float
    brought: str
    error: float


def rows(points: Sequence[Point]) -> list[Row]:
    """A row a point, and the corners of the band."""
    if not points:
        return []
    gains = [gain for each in points for gain in (each.predicted, each.measured)]
    low, high = min(gains) / _ROOM, max(gains) * _ROOM
    corners: list[Row] = [
        {
            "what": "band",
            "predicted": tidy(at),
            "low": tidy(max(low, at / NEAR)),
            "high": tidy(min(high, at * NEAR)),
            "measured": tidy(at),
        }
        for at in sorted({low, min(high, low * NEAR), max(low, high / NEAR), high})
    ]
    return corners + [_row(each) for each in points]


def _row(point: Point) -> Row:
    colour, shape = _LOOKS[point.error <= NEAR]
    return {
        "what": "point",
        "predicted": tidy(point.predicted),
        "measured": tidy(point.measured),
        "colour": colour,
        "shape": shape,
        "name": point.name,
        "verdict": point.verdict,
        "confidence": point.confidence,
        "promised": factor(point.predicted),
        "brought": point.brought,
        "off": factor(point.error),
    }


def draw(found: Sequence[Row]) -> Markup:
    """Both axes are logarithmic, so that a factor is a distance."""
    band = [row for row in found if row["what"] == "band"]
    low, high = band[0]["predicted"], band[-1]["predicted"]
    scale = axes.AxisScale(low, high, log=True)
    across, up = (
        axes.Axis(scale, scale.ticks(most), lambda value: f"{value:g}x", title)
        for most, title in ((6, "Predicted gain, as a factor"), (4, "What the fix brought"))
    )

    def down(value: float) -> float:
        return (1 - scale.at(value)) * HEIGHT

    marks = []
    for start, end in pairwise(band):
        sides = [(scale.at(row["predicted"]), row) for row in (start, end)]
        for field in ("low", "high", "measured"):
            (x, one), (x2, other) = sides
            look = "dashed" if field == "measured" else "band"
            marks.append(drawing.line(x, down(one[field]), x2, down(other[field]), look))
    for row in found:
        if row["what"] == "point":
            place = scale.at(row["predicted"]), down(row["measured"])
            told = "\n".join(f"{title}: {row[field]}" for field, title in _TOLD)
            said = f"{row['name']}\n{told}"
            marks.append(drawing.symbol(*place, row["shape"], row["colour"], title=said))
    return drawing.plot(HEIGHT, marks, x=across, y=up)


charts.KINDS[NAME] = ChartKind(draw, wide=True)
