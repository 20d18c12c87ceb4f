"""The climb: a bar a rung, in order, with its verdict, below cuBLAS and the peak of the GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import share
from kernelprof.report.charts.parts import (
    ACCENT,
    CALM,
    INK,
    INSIDE,
    MUTED,
    Kind,
    Row,
    Spec,
    axis,
    layer,
    over,
    spec,
    tidy,
    tooltip,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


STEP: Final = 44
BAR: Final = 18
MOST_LIMITS: Final = 2
_UPPER: Final = -10
_LOWER: Final = 8
"""Pixels from the middle of a rung to its name, and to its bar."""

_INSIDE_FROM: Final = 0.5
"""Part of the widest bar from which a verdict stands inside: before that it fits behind."""

_WIDE: Final = "width >= 640"
_NARROW: Final = "width < 640"
_COLUMNS: Final = (
    ("time", "time", 275, _WIDE),
    ("rate", "GFLOP/s", 190, _WIDE),
    ("share", "of cuBLAS", 105, _WIDE),
    ("step", "step", 0, _WIDE),
    ("rate", "GFLOP/s", 0, _NARROW),
)
"""Figures beside the bars: field, heading, pixels from the right edge, and where they are shown."""

_BARS_END: Final = f"{_WIDE} ? width - 365 : width - 62"
_Y: Final[Spec] = {
    "field": "order",
    "type": "ordinal",
    "axis": None,
    "scale": {"paddingInner": 0, "paddingOuter": 0},
}
_TOOLTIP: Final = tooltip(
    ("name", "Rung"),
    ("time", "Time"),
    ("interval", "95 % confidence"),
    ("gflops", "GFLOP/s", ",.0f"),
    ("share", "Of cuBLAS"),
    ("verdict", "Verdict"),
    ("gain", "Gain at most"),
)


@dataclass(frozen=True, slots=True)
class Limit:
    """A rate in GFLOP/s that no rung exceeds."""

    label: str
    gflops: float


@dataclass(frozen=True, slots=True)
class Rung:
    """A rung: its rate in GFLOP/s and that of the ceiling's, 0 to 1, and what is written there.

    ``way`` is set for those that lead up to the fastest one; ``step`` is how many times as fast it
    is as the rung ``after`` which it comes. ``said`` is its verdict with what went wrong.
    """

    name: str
    verdict: str
    said: str
    gflops: float | None = None
    of_ceiling: float | None = None
    time: str = ""
    interval: str = ""
    gain: str = ""
    way: bool = False
    after: int | None = None
    step: str | None = None


def rows(rungs: Sequence[Rung], limits: Sequence[Limit]) -> tuple[Row, ...]:
    """A row a rung, also for one that failed, and a row a limit."""
    rates = [*(each.gflops or 0.0 for each in rungs), *(each.gflops for each in limits)]
    most = max(rates, default=0.0)
    bars: list[Row] = [
        {
            "what": "rung",
            "order": position,
            "name": each.name,
            "gflops": None if each.gflops is None else tidy(each.gflops),
            "inside": (each.gflops or 0.0) > _INSIDE_FROM * most,
            "way": each.way,
            "verdict": each.verdict,
            "said": each.said,
            "interval": each.interval,
            "gain": each.gain,
            **_figures(each),
        }
        for position, each in enumerate(rungs)
    ]
    lines: list[Row] = [
        {
            "what": "limit",
            "gflops": tidy(each.gflops),
            "text": f"{each.label} {each.gflops:,.0f}",
            "lift": position,
        }
        for position, each in enumerate(limits)
    ]
    return (*bars, *lines)


def _figures(rung: Rung) -> dict[str, str]:
    """A rung's line in the columns beside the bars."""
    if rung.gflops is None:
        return {}
    return {
        "time": rung.time,
        "rate": f"{rung.gflops:,.0f}",
        "share": "" if rung.of_ceiling is None else share(rung.of_ceiling),
        "step": "" if rung.step is None else f"{rung.step} over {rung.after}",
    }


def chart() -> Spec:
    """The specification: two lines a rung, its name above, bar and figures below."""
    rung, limit = "datum.what == 'rung'", "datum.what == 'limit'"
    timed = f"{rung} && isValid(datum.gflops)"
    x = axis(
        "gflops",
        "GFLOP/s",
        scale={"zero": True, "nice": False, "range": [0, {"expr": _BARS_END}]},
        axis={"format": ",d", "tickCount": 4, "titleAnchor": "start"},
    )
    verdict = {"text": {"field": "said"}, "y": _Y}
    in_bar = {"condition": {"test": "datum.way", "value": INSIDE}, "value": INK}
    behind = {"type": "text", "align": "left", "dx": 6, "yOffset": _LOWER}
    colour = {"condition": {"test": "datum.way", "value": ACCENT}, "value": CALM}
    return spec(
        height={"step": STEP},
        layer=[
            *_limit_layers(limit, x),
            *_names(rung),
            layer(
                timed,
                {"type": "bar", "height": BAR, "yOffset": _LOWER, "cornerRadiusEnd": 3},
                x=x,
                y=_Y,
                color=colour,
                tooltip=_TOOLTIP,
            ),
            *_columns(rung),
            layer(
                f"{timed} && datum.inside",
                {"type": "text", "align": "right", "dx": -8, "yOffset": _LOWER},
                x=x,
                color=in_bar,
                **verdict,
            ),
            *over(f"{timed} && !datum.inside", behind, x=x, **verdict),
            *over(f"{rung} && !isValid(datum.gflops)", behind, x={"value": 0}, **verdict),
        ],
    )


def _limit_layers(limit: str, x: Spec) -> list[Spec]:
    """A line for each limit, each with its name on a height of its own."""
    rule = {"type": "rule", "strokeDash": [4, 3], "color": MUTED}
    return [
        layer(limit, rule, x=x),
        *(
            layer(
                f"{limit} && datum.lift == {line}",
                {"type": "text", "align": "right", "dx": 2, "dy": -8 - 16 * line},
                x=x,
                y={"value": 0},
                text={"field": "text"},
            )
            for line in range(MOST_LIMITS)
        ),
    ]


def _names(rung: str) -> list[Spec]:
    """Names of rungs; those that lead up stand out, the others stand back."""
    found = []
    for test, weight, indent in (("datum.way", "bold", 0), ("!datum.way", "normal", 12)):
        mark = {"type": "text", "align": "left", "dx": indent, "yOffset": _UPPER}
        found += over(
            f"{rung} && {test}",
            {**mark, "fontWeight": weight},
            x={"value": 0},
            y=_Y,
            text={"field": "name"},
        )
    return found


def _columns(rung: str) -> list[Spec]:
    """Figures of rungs, and their headings on the first rung's height."""
    found = []
    for field, heading, place, shown in _COLUMNS:
        x = {"value": {"expr": f"width - {place}"}}
        mark = {"type": "text", "align": "right"}
        figures = {**mark, "yOffset": _LOWER}
        found.append(layer(f"{rung} && {shown}", figures, x=x, y=_Y, text={"field": field}))
        found.append(
            layer(
                f"{rung} && {shown} && datum.order == 0",
                {**mark, "dy": -8, "color": MUTED},
                x=x,
                y={"value": 0},
                text={"value": heading},
            )
        )
    return found


KIND: Final = Kind(chart, wide=True)
