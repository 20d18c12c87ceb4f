"""Kernels by the change of their time, each a mark with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.report.charts.parts import (
    MUTED,
    NAMES,
    POINT,
    Key,
    Kind,
    Row,
    Rows,
    Spec,
    axis,
    layer,
    look,
    spec,
    tidy,
    tooltip,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_KERNELS: Final = 20
NEAR: Final = (2 / 3, 1.5)
"""Ratios of time within which an axis of percentages is read more easily than one of factors."""

OUTCOMES: Final = {
    "slower": ("var(--bar-held)", "triangle-up"),
    "faster": ("var(--bar-limit)", "triangle-down"),
    "undecided": ("var(--bar-open)", "diamond"),
    "same": ("var(--bar-rest)", "circle"),
    "unknown": ("var(--bar-rest)", "cross"),
}
_WHAT: Final = {
    "slower": "slower",
    "faster": "faster",
    "undecided": "undecided",
    "same": "within the noise",
    "unknown": "not known",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A kernel's time after over that before, with its interval.

    ``outcome`` is one of :data:`OUTCOMES`; ``text`` says the change in a few words.
    """

    name: str
    outcome: str
    text: str
    ratio: float | None
    low: float | None = None
    high: float | None = None


def rows(changes: Sequence[Change]) -> tuple[Row, ...]:
    """The first kernels of which a change is known, each with its interval."""
    return tuple(
        {
            "name": f"{position} {each.name}",
            "ratio": tidy(each.ratio),
            "percent": tidy(each.ratio - 1),
            "low": tidy(_ends(each)[0]),
            "high": tidy(_ends(each)[-1]),
            "percent_low": tidy(_ends(each)[0] - 1),
            "percent_high": tidy(_ends(each)[-1] - 1),
            "outcome": each.outcome,
            "text": each.text,
        }
        for position, each in enumerate(changes[:MOST_KERNELS], start=1)
        if each.ratio is not None and each.ratio > 0
    )


def kind(changes: Sequence[Change]) -> str:
    """The kind of chart that fits: one of percentages where all changes are small."""
    known = [each for each in changes[:MOST_KERNELS] if each.ratio is not None and each.ratio > 0]
    near = all(NEAR[0] < ratio < NEAR[1] for each in known for ratio in _ends(each))
    return "changes:near" if near else "changes"


def _ends(change: Change) -> list[float]:
    return sorted(
        each
        for each in (change.low, change.ratio, change.high)
        if each is not None and 0 < each < math.inf
    )


def _legend(rows: Rows) -> Sequence[Key]:
    found = {row["outcome"] for row in rows}
    return [Key(_WHAT[name], *look) for name, look in OUTCOMES.items() if name in found]


_ROOM: Final = "width >= 420"
_WORDS: Final = 150
"""Pixels to the right of the axis for what happened in words, where the page has that room."""

_FACTORS: Final = (
    "datum.value == 1 ? 'as before' : datum.value < 1 ? "
    "format(1 / datum.value, '.3~g') + 'x faster' : format(datum.value, '.3~g') + 'x slower'"
)
_PERCENTS: Final = (
    "datum.value == 0 ? 'as before' : format(100 * abs(datum.value), '.3~g') + ' % ' + "
    "(datum.value < 0 ? 'faster' : 'slower')"
)


def chart(scale: str = "") -> Spec:
    """A mark a kernel at its change, with its interval as a line; the middle is as before."""
    near = scale == "near"
    value, ends = ("percent", "percent_") if near else ("ratio", "")
    x = axis(
        value,
        None,
        scale={
            **({"zero": True} if near else {"type": "log"}),
            "range": [0, {"expr": f"{_ROOM} ? width - {_WORDS} : width - 12"}],
        },
        axis={
            "labelExpr": _PERCENTS if near else _FACTORS,
            "labelOverlap": "greedy",
            "tickCount": 5,
        },
    )
    middle = {**{key: part for key, part in x.items() if key != "field"}, "datum": 0 if near else 1}
    colour = look("outcome", {name: colour for name, (colour, _) in OUTCOMES.items()})
    shape = look("outcome", {name: shape for name, (_, shape) in OUTCOMES.items()})
    return spec(
        height={"step": 26},
        encoding={"y": NAMES},
        layer=[
            layer(
                "",
                {"type": "rule", "color": MUTED, "strokeDash": [4, 3]},
                x=middle,
                y={"value": 0},
                y2={"value": {"expr": "height"}},
            ),
            layer(
                "",
                {"type": "rule", "strokeWidth": 3},
                x={**x, "field": f"{ends}low"},
                x2={"field": f"{ends}high"},
                color=colour,
            ),
            layer(
                _ROOM,
                {"type": "text", "align": "right"},
                x={"value": {"expr": "width"}},
                text={"field": "text"},
            ),
            layer(
                "",
                POINT,
                x=x,
                color=colour,
                shape=shape,
                tooltip=tooltip(
                    ("name", "Kernel"), ("text", "Change"), ("ratio", "After over before")
                ),
            ),
        ],
    )


KIND: Final = Kind(chart, wide=True, legend=_legend)
