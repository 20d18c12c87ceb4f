"""Bytes on their way from the threads to device memory, beside the fewest that are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import quantity
from kernelprof.report.charts.parts import (
    ACCENT,
    BAR,
    INK,
    NAMES,
    PANEL,
    ROW_HEIGHT,
    Kind,
    Row,
    Spec,
    axis,
    decade,
    layer,
    log_axis,
    spec,
    tidy,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_OUTLINED: Final[tuple[Spec, ...]] = (
    {"type": "rule", "strokeWidth": 5, "color": PANEL},
    {"type": "rule", "strokeWidth": 1.5, "color": INK, "strokeDash": [4, 3]},
)
"""A line that can be seen on bars of any colour."""


@dataclass(frozen=True, slots=True)
class Level:
    """Bytes that passed one place on their way, as a ``multiple`` of the fewest possible.

    ``hit_rate`` is 0 to 1; ``tip`` says what is counted there.
    """

    name: str
    bytes: float
    text: str
    multiple: float | None = None
    hit_rate: float | None = None
    tip: str = ""


def rows(levels: Iterable[Level]) -> tuple[Row, ...]:
    """A bar a level, from a power of ten below all of them: the axis is logarithmic."""
    levels = [level for level in levels if level.bytes > 0]
    if not levels:
        return ()
    fewest = [level.bytes / level.multiple for level in levels if level.multiple]
    floor = decade(min([*fewest, *(level.bytes for level in levels)]) / 2, up=False)
    least: Row = {}
    if fewest:
        text = f"fewest possible: {quantity(fewest[0], 'byte')}"
        least = {"least": tidy(fewest[0]), "least_text": text}
    return tuple(
        {
            "name": level.name,
            "bytes": tidy(level.bytes),
            "floor": floor,
            "text": level.text,
            "multiple": None if level.multiple is None else tidy(level.multiple),
            "hits": level.hit_rate,
            **least,
        }
        for level in levels
    )


def chart() -> Spec:
    """The specification."""
    x = axis("bytes", "Bytes, on a logarithmic axis", **log_axis("~s", "B"))
    once: list[Spec] = [
        {"filter": "isValid(datum.least)"},
        {"aggregate": [{"op": "count", "as": "levels"}], "groupby": ["least", "least_text"]},
    ]
    fewest = {"field": "least", "type": "quantitative"}
    return spec(
        height={"step": ROW_HEIGHT + 6},
        layer=[
            layer("", {**BAR, "color": ACCENT}, y=NAMES, x=x, x2={"field": "floor"}),
            *(layer(once, look, x=fewest) for look in _OUTLINED),
            layer(
                once,
                {"type": "text", "align": "left", "dx": -2, "dy": -8},
                x=fewest,
                y={"value": 0},
                text={"field": "least_text"},
            ),
            layer(
                "",
                {"type": "text", "align": "left", "dx": 4},
                y=NAMES,
                x=x,
                text={"field": "text"},
            ),
        ],
    )


KIND: Final = Kind(
    chart,
    table=(
        ("Where", "name", "text"),
        ("Bytes", "text", "text"),
        ("Of the minimum", "multiple", "times"),
        ("Hit rate", "hits", "share"),
    ),
    wide=True,
)
