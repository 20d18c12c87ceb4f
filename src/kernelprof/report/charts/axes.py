"""Scales of charts and the numbers at them: linear, of powers of ten, and of dates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MOST_TICKS: Final = 6
_STEPS: Final = (1.0, 2.0, 5.0)
_PREFIXES: Final = (
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
)
_SECOND: Final = 1000.0
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_SPANS: Final = (
    *(_SECOND * each for each in (1, 2, 5, 10, 30)),
    *(_MINUTE * each for each in (1, 2, 5, 10, 30)),
    *(_HOUR * each for each in (1, 2, 3, 6, 12)),
    *(_DAY * each for each in (1, 2, 5, 10, 30, 90, 180, 365)),
)
_FORMS: Final = (
    (10 * _MINUTE, "%H:%M:%S"),
    (_DAY, "%H:%M"),
    (5 * _DAY, "%m-%d %H:%M"),
    (math.inf, "%Y-%m-%d"),
)


@dataclass(frozen=True, slots=True)
class AxisScale:
    """Values from ``low`` to ``high`` along an axis; of a ``log`` one both are above zero."""

    low: float
    high: float
    log: bool = False

    def at(self, value: float) -> float:
        """Where a value stands: 0 at the start of the axis, 1 at its end."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, most: int = MOST_TICKS) -> list[float]:
        """Round numbers: 1, 2 and 5 of each power of ten, as many as have room."""
        if self.log:
            return _powers(self.low, self.high, 2 * most)
        return _multiples(self.low, self.high, step_for(self.high - self.low, most))


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale with its ticks, what they say, and a title."""

    scale: AxisScale
    ticks: Sequence[float]
    text: Callable[[float], str]
    title: str = ""

    def at(self, value: float) -> float:
        """Where a value stands, 0 to 1."""
        return self.scale.at(value)


def around(values: Iterable[float], *, zero: bool = False, log: bool = False) -> AxisScale:
    """A scale with room on both sides of the values; from ``zero`` on, only above them."""
    numbers = list(values)
    low, high = min(numbers), max(numbers)
    if log:
        room = (high / low) ** 0.05 if high > low else 1.5
        return AxisScale(low / room, high * room, log=True)
    if zero:
        return AxisScale(0.0, 1.05 * high or 1.0)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return AxisScale(low - room, high + room)


def step_for(span: float, most: int) -> float:
    """The smallest round step with which so many numbers are enough."""
    power = 10.0 ** math.floor(math.log10(span / most))
    return next(each * power for each in (*_STEPS, 10.0) if each * power * most >= span * 0.999)


def dates(low: float, high: float) -> Axis:
    """An axis of dates, in milliseconds since 1970, UTC."""
    scale = around((low, high))
    span = scale.high - scale.low
    step = next((each for each in _SPANS if each * MOST_TICKS >= span), span / MOST_TICKS)
    form = next(form for most, form in _FORMS if span < most)
    return Axis(
        scale,
        _multiples(scale.low, scale.high, step),
        lambda value: datetime.fromtimestamp(value / 1000.0, UTC).strftime(form),
        "Date (UTC)",
    )


def prefixed(value: float, unit: str = "") -> str:
    """``200 MB`` of a number and its unit; ``20T`` without one."""
    if not value:
        return f"0 {unit}".rstrip()
    size, prefix = next((e for e in _PREFIXES if abs(value) >= 0.9999 * e[0]), _PREFIXES[-1])
    between = " " if unit else ""
    return f"{value / size:.6g}{between}{prefix}{unit}"


def _powers(low: float, high: float, most: int) -> list[float]:
    ticks = [
        step * 10.0**power
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for step in _STEPS
        if low <= step * 10.0**power <= high
    ]
    whole = [each for each in ticks if math.isclose(math.log10(each) % 1.0, 0.0, abs_tol=1e-9)]
    return whole if len(ticks) > most and len(whole) > 1 else ticks


def _multiples(low: float, high: float, step: float) -> list[float]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [each * step for each in range(first, last + 1)]
