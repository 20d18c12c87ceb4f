"""Predicted against measured gains of the corpus, and the band in which a prediction is near."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.corpus.score import NEAR

from kernelprof.model.numbers import factor
from kernelprof.report import charts
from kernelprof.report.charts import axes, drawing
from kernelprof.report.charts.drawing import ACCENT, ChartKind, tidy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

NAME: Final = "gains"
HEIGHT: Final = 420
_ROOM: Final = 1.15
"""Factor by which the scales go beyond the points."""

_LOOKS: Final = {True: (ACCENT, "circle"), False: ("var(--failed)", "triangle-up")}
"""A point within the band, and one outside."""


class Point(NamedTuple):
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

    @property
    def look(self) -> tuple[str, str]:
        """Colour and shape: whether the point is in the band."""
        return _LOOKS[self.error <= NEAR]

    @property
    def labels(self) -> tuple[tuple[str, str], ...]:
        """What the tip of the point lists."""
        return (
            ("Verdict", self.verdict),
            ("Confidence", self.confidence),
            ("Predicted", factor(self.predicted)),
            ("Fix brought", self.brought),
            ("Off by", factor(self.error)),
        )


class Corner(NamedTuple):
    """An edge of the band: the measured gains, ``low`` to ``high``, near a predicted one."""

    predicted: float
    low: float
    high: float

    @property
    def measured(self) -> float:
        """What a right prediction measures."""
        return self.predicted


def rows(points: Sequence[Point]) -> list[Corner | Point]:
    """The corners of the band, and the points."""
    if not points:
        return []
    gains = [gain for each in points for gain in (each.predicted, each.measured)]
    low, high = min(gains) / _ROOM, max(gains) * _ROOM
    corners = [
        Corner(tidy(at), tidy(max(low, at / NEAR)), tidy(min(high, at * NEAR)))
        for at in sorted({low, min(high, low * NEAR), max(low, high / NEAR), high})
    ]
    return [*corners, *points]


def draw(found: Sequence[Corner | Point]) -> Markup:
    """Both axes are logarithmic, so that a factor is a distance."""
    band = [row for row in found if isinstance(row, Corner)]
    low, high = band[0].predicted, band[-1].predicted
    scale = axes.AxisScale(low, high, log=True)
    across, up = (
        axes.Axis(scale, scale.ticks(most), lambda value: f"{value:g}x", title)
        for most, title in ((6, "Predicted gain, as a factor"), (4, "What the fix brought"))
    )

    def down(value: float) -> float:
        return (1 - scale.at(value)) * HEIGHT

    marks = []
    for start, end in pairwise(band):
        x, x2 = scale.at(start.predicted), scale.at(end.predicted)
        for one, other, look in (
            (start.low, end.low, "band"),
            (start.high, end.high, "band"),
            (start.measured, end.measured, "dashed"),
        ):
            marks.append(drawing.line(x, down(one), x2, down(other), look))
    for point in found:
        if isinstance(point, Point):
            place = scale.at(tidy(point.predicted)), down(tidy(point.measured))
            colour, shape = point.look
            tip = "\n".join([point.name, *(": ".join(each) for each in point.labels)])
            marks.append(drawing.symbol(*place, shape, colour, title=tip))
    return drawing.plot(HEIGHT, marks, x=across, y=up)


charts.KINDS[NAME] = ChartKind(draw, wide=True)
