"""Numbers as people read them: four digits, a prefix that fits, the unit behind."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelprof.model.diagnosis import Evidence

_PREFIXED = {
    "ns": ((1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")),
    "byte": ((1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")),
    "byte/s": ((1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s")),
    "hz": ((1.0, "Hz"), (1e3, "kHz"), (1e6, "MHz"), (1e9, "GHz")),
}
_UNITLESS = frozenset({"", "1"})
_OF_WHOLE = {"byte/sector": 32}
"""Units with a natural whole: a sector holds 32 bytes, and "4.23 of 32" is clearer than "4.23"."""

_EXACT_BELOW = 1e15


def number(value: float) -> str:
    """Format with at least four digits; whole numbers in full, with thousands separated."""
    if not math.isfinite(value):
        return "unknown"
    size = abs(value)
    if size < _EXACT_BELOW and value == (whole := int(value)):
        return f"{whole:,}"
    if size >= 1000:
        return f"{value:,.0f}" if size < _EXACT_BELOW else f"{value:.4g}"
    if size >= 100:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return f"{value:.2g}"


def rounded(value: float) -> str:
    """Format with three significant digits; whole numbers in full, with thousands separated."""
    if not math.isfinite(value):
        return "unknown"
    if abs(value) < _EXACT_BELOW and value == (whole := int(value)):
        return f"{whole:,}"
    short = f"{value:.3g}"
    return f"{float(short):,.0f}" if 100 <= abs(value) < _EXACT_BELOW else short


def rounded_quantity(value: float, unit: str) -> str:
    """Format a number for a sentence: ``17.7 ms``; of percentages two digits, as ``71 %``."""
    factor, shown = _scale(value, unit)
    text = f"{value:.0f}" if value >= 10 else f"{value:.2g}"
    # An occupancy of 12.5 % is exact.
    exact = text == "100" or not math.isfinite(value) or (value * 16) % 1 == 0
    if unit != "%" or exact:
        text = rounded(value / factor)
    return f"{text} {shown}".rstrip()


def quantity(value: float, unit: str) -> str:
    """Format a number and its unit: ``17.65 ms``, ``98.97 %``, ``4.23 of 32 byte/sector``."""
    factor, shown = _scale(value, unit)
    text = number(value / factor)
    if unit in _OF_WHOLE:
        text = f"{text} of {_OF_WHOLE[unit]}"
    return f"{text} {shown}".rstrip()


def comparison(evidence: Evidence) -> str:
    """Format evidence: ``value op threshold unit``, or the value alone without a threshold."""
    if evidence.threshold is None:
        return quantity(evidence.value, evidence.unit)
    factor, shown = _scale(evidence.value, evidence.unit)
    left, right = number(evidence.value / factor), number(evidence.threshold / factor)
    return f"{left} {evidence.op} {right} {shown}".rstrip()


def format_interval(evidence: Evidence) -> str:
    """Format the range of a predicted value: ``50.1 to 98.4 %``; empty where it is exact."""
    if evidence.ends is None:
        return ""
    factor, shown = _scale(evidence.value, evidence.unit)
    low, high = (number(each / factor) for each in evidence.ends)
    return f"{low} to {high} {shown}".rstrip()


def factor(value: float) -> str:
    """Format a factor of run time: ``5.6x``, ``1.37x``, ``12.7x``."""
    if not math.isfinite(value):
        return "unbounded"
    if value < 2:
        return f"{value:.2f}x"
    return f"{value:.1f}x" if value < 100 else f"{value:,.0f}x"


def share(value: float | None) -> str:
    """Format a part of the whole in at most five characters: ``33 %``, ``3.3 %``."""
    if value is None or not math.isfinite(value):
        return "-"
    percent = 100 * value
    if percent >= 9.95:
        return f"{percent:.0f} %"
    return f"{percent:.1f} %" if percent >= 0.05 else "~0 %"


def dimensions(value: tuple[int, int, int]) -> str:
    """Format a grid or a block without the dimensions it does not use: ``16x16``."""
    x, y, z = value
    used = (x, y, z) if z != 1 else (x, y) if y != 1 else (x,)
    return "x".join(str(each) for each in used)


def count(amount: int, noun: str) -> str:
    """Format a number of things: ``1 launch``, ``20,000 launches``."""
    plural = f"{noun}es" if noun.endswith(("ch", "s")) else f"{noun}s"
    return f"{amount:,} {noun if amount == 1 else plural}"


def _scale(value: float, unit: str) -> tuple[float, str]:
    """Return a divisor and the unit to show; a prefix that keeps the number at 1 or above."""
    if unit in _UNITLESS:
        return 1.0, ""
    prefixes = _PREFIXED.get(unit)
    if prefixes is None:
        return 1.0, unit
    size = abs(value)
    fitting = [each for each in prefixes if size >= each[0]]
    return fitting[-1] if fitting and math.isfinite(size) else prefixes[0]
