"""Predicted against measured gains of the corpus, and the band in which a prediction is near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.corpus.score import NEAR

from kernelprof.model.numbers import factor
from kernelprof.report import charts
from kernelprof.report.charts.parts import (
    ACCENT,
    CALM,
    MUTED,
    Kind,
    Row,
    Spec,
    layer,
    log_axis,
    spec,
    tidy,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME: Final = "gains"
HEIGHT: Final = 420
_ROOM: Final = 1.15
"""Factor by which the scales go beyond the points."""

_LOOKS: Final = {True: (ACCENT, "circle"), False: ("var(--failed)", "triangle-up")}
"""A point within the band, and one outside."""

_TOOLTIP: Final = [
    {"field": "name", "title": "Pair"},
    {"field": "verdict", "title": "Verdict"},
    {"field": "confidence", "title": "Confidence"},
    {"field": "promised", "title": "Predicted"},
    {"field": "brought", "title": "Fix brought"},
    {"field": "off", "title": "Off by"},
]


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


def chart() -> Spec:
    """The specification: both axes are logarithmic, so that a factor is a distance."""
    shared = {"type": "quantitative", **log_axis("~r")}
    x: Spec = {"field": "predicted", "title": "Predicted gain, as a factor", **shared}
    y: Spec = {"field": "measured", "title": "What the fix brought", **shared}
    band = "datum.what == 'band'"
    area = {"type": "area", "color": CALM, "opacity": 0.3}
    dashes = {"type": "line", "color": MUTED, "strokeDash": [4, 3]}
    return spec(
        height=HEIGHT,
        layer=[
            layer(band, area, x=x, y={**y, "field": "low"}, y2={"field": "high"}),
            layer(band, dashes, x=x, y=y),
            layer(
                "datum.what == 'point'",
                {"type": "point", "filled": True, "size": 110, "opacity": 0.9},
                x=x,
                y=y,
                color={"field": "colour", "type": "nominal", "scale": None},
                shape={"field": "shape", "type": "nominal", "scale": None},
                tooltip=_TOOLTIP,
            ),
        ],
    )


charts.KINDS[NAME] = Kind(chart, wide=True)
