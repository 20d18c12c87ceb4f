"""Counters, metrics, warp states and inputs of a comparison as rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.report.html.build.comparison.medians import ROW
from kernelprof.report.html.build.measured import clip, finite
from kernelprof.report.html.build.private import shown
from kernelprof.report.html.build.warps import warp_states
from kernelprof.report.html.comparison_view import (
    CounterRow,
    InputRow,
    MetricRow,
    Sign,
    StatePair,
)
from kernelprof.report.numbers import number, quantity, share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.comparison import CounterChange, InputChange, MetricChange
    from kernelprof.report.html.build.comparison.medians import Medians

WORSE: Final = Sign("worse", "✗", "worse")
BETTER: Final = Sign("better", "✓", "better")
NEITHER: Final = Sign("neither", "–", "neither")

MOST_BARS: Final = 8
LEAST_EXPLAINED: Final = 0.05
LEAST_STATE: Final = 0.005
"""States below this on both sides are left out."""

_TWICE: Final = 2.0


def counter_row(change: CounterChange) -> CounterRow:
    """A counter before and after, by request where it is read that way."""
    signs = {True: WORSE, False: BETTER, None: NEITHER}
    old, new, unit, all_of_them = change.before, change.after, change.unit, ("", "")
    if change.before_each is not None and change.after_each is not None:
        each = change.before_each, change.after_each
        if number(each[0]) != number(each[1]):
            all_of_them = number(old), number(new)
            (old, new), unit = each, f"{change.unit}/{change.each}"
    return CounterRow(
        label=shown(change.label),
        metric=shown(change.metric),
        before=_value(old, unit),
        after=_value(new, unit),
        change=_change(old, new),
        sign=signs[change.worse],
        before_all=all_of_them[0],
        after_all=all_of_them[1],
    )


def metric_row(change: MetricChange) -> MetricRow:
    """A metric before and after; percentages are bars of a whole, others of the larger side."""
    known = catalogue().get(change.metric)
    unit = change.unit if known is None else known.unit
    old, new = finite(change.before) or 0.0, finite(change.after) or 0.0
    whole = 100.0 if unit == "%" else max(abs(old), abs(new))
    fills = [clip(abs(each) / whole) if whole else 0.0 for each in (old, new)]
    explains = finite(change.explains)
    return MetricRow(
        metric=shown(change.metric),
        meaning="" if known is None else known.why,
        before=_value(change.before, unit),
        after=_value(change.after, unit),
        change=_points(old, new) if unit == "%" else _change(change.before, change.after),
        explains=share(explains) if explains is not None and explains >= LEAST_EXPLAINED else "",
        before_fill=fills[0],
        after_fill=fills[1],
    )


def most(rows: Sequence[MetricRow]) -> tuple[MetricRow, ...]:
    """The metrics that are shown as bars; warp states have a chart of their own."""
    return tuple(each for each in rows if not each.metric.startswith("stall_"))[:MOST_BARS]


def states(before: Medians, after: Medians) -> tuple[tuple[StatePair, ...], str]:
    """Warp states side by side, the largest first, and the sentence with the cycles."""
    found = [warp_states(each, ROW) for each in (before, after)]
    if found[0] is None or found[1] is None:
        return (), ""
    old, new = ({each.name: each for each in side.states} for side in found if side is not None)
    pairs = [
        StatePair(
            name,
            old[name].share if name in old else 0.0,
            new[name].share if name in new else 0.0,
            (new.get(name) or old[name]).tip,
        )
        for name in dict.fromkeys((*old, *new))
    ]
    pairs.sort(key=lambda each: -max(each.before, each.after))
    cycles = [each.value("warp_cycles_per_instruction", ROW) for each in (before, after)]
    note = ""
    if cycles[0] and cycles[1]:
        note = (
            f"A warp issued an instruction every {number(cycles[0])} cycles before, and every "
            f"{number(cycles[1])} after."
        )
    return tuple(each for each in pairs if max(each.before, each.after) >= LEAST_STATE), note


def input_rows(changes: Iterable[InputChange]) -> tuple[InputRow, ...]:
    """What differs in what the kernels were built, launched and measured with."""
    return tuple(
        InputRow(*(shown(each) for each in (one.kind, one.what, one.before, one.after)))
        for one in changes
    )


def _value(value: float, unit: str) -> str:
    return quantity(value, shown(unit))


def _points(old: float, new: float) -> str:
    """The difference of two percentages."""
    return f"{_signed(new - old)} points"


def _change(old: float, new: float) -> str:
    """By how much, as a factor where that is large: ``6.6x less``, ``+12 %``."""
    if not (math.isfinite(old) and math.isfinite(new)) or old < 0 or new < 0 or old == new:
        return ""
    if old == 0:
        return "from none"
    if new == 0:
        return "to none"
    if new / old >= _TWICE:
        return f"{number(new / old)}x as much"
    if old / new >= _TWICE:
        return f"{number(old / new)}x less"
    return f"{_signed(100 * (new / old - 1))} %"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else '−'}{number(abs(value))}"
