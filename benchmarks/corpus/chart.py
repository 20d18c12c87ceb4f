"""Predicted against measured gains of the corpus, and the band in which a prediction is near."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.corpus.score import NEAR

from kernelprof.report.html.charts.parts import (
    ACCENT,
    CALM,
    MUTED,
    Row,
    Spec,
    layer,
    log_axis,
    spec,
    tidy,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.report.html.corpus import PairView

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


def rows(pairs: Sequence[PairView]) -> list[Row]:
    """A row a right verdict with a predicted gain, and the corners of the band."""
    points = [each for each in pairs if each.error is not None]
    gains = [gain for each in points for gain in (each.predicted, each.measured) if gain]
    if not gains:
        return []
    low, high = min(gains) / _ROOM, max(gains) * _ROOM
    found: list[Row] = [
        {
            "what": "band",
            "predicted": tidy(at),
            "low": tidy(max(low, at / NEAR)),
            "high": tidy(min(high, at * NEAR)),
            "measured": tidy(at),
        }
        for at in sorted({low, min(high, low * NEAR), max(low, high / NEAR), high})
    ]
    for each in points:
        colour, shape = _LOOKS[(each.error or 0.0) <= NEAR]
        found.append(
            {
                "what": "point",
                "predicted": tidy(each.predicted or 1.0),
                "measured": tidy(each.measured or 1.0),
                "colour": colour,
                "shape": shape,
                "name": each.name,
                "verdict": each.verdict,
                "confidence": each.confidence,
                "promised": each.promised,
                "brought": each.brought,
                "off": each.off,
            }
        )
    return found


def chart() -> Spec:
    """The specification: both axes are logarithmic, so that a factor is a distance."""
    scale = {"type": "log", "nice": False}
    axis = log_axis("~r")
    x: Spec = {
        "field": "predicted",
        "type": "quantitative",
        "title": "Predicted gain, as a factor",
        "scale": scale,
        "axis": axis,
    }
    y: Spec = {
        "field": "measured",
        "type": "quantitative",
        "title": "What the fix brought",
        "scale": scale,
        "axis": axis,
    }
    band = "datum.what == 'band'"
    return spec(
        height=HEIGHT,
        layer=[
            layer(
                band,
                {"type": "area", "color": CALM, "opacity": 0.3},
                x=x,
                y={**y, "field": "low"},
                y2={"field": "high"},
            ),
            layer(band, {"type": "line", "color": MUTED, "strokeDash": [4, 3]}, x=x, y=y),
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
