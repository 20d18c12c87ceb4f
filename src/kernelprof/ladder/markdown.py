"""Pieces of the ladder's reports: tables, and cells that show a dash for what is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.report.numbers import factor, number, quantity, share
from kernelprof.report.writers.markdown import code

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.model.manifest import TimingFacts

DASH = "-"
_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> list[str]:
    """A table whose first ``left`` columns are words and whose others are figures."""
    marks = [":--" if position < left else "--:" for position in range(len(columns))]
    return [_row(columns), _row(marks), *(_row(cells) for cells in rows)]


def time_cell(timing: TimingFacts | None) -> str:
    """The median."""
    return DASH if timing is None else quantity(timing.median_ns, "ns")


def spread_cell(timing: TimingFacts | None) -> str:
    """The 95 % confidence interval of the median; shortest and longest where there is none."""
    if timing is None:
        return DASH
    low, high = timing.confidence_low_ns, timing.confidence_high_ns
    if low is None or high is None:
        return f"{_span(timing.low_ns, timing.high_ns)} (all)"
    return _span(low, high)


def _span(low: float, high: float) -> str:
    """``2.7786 to 2.7814 ms``: five digits, as launches of the same code differ in the fourth."""
    size, unit = next((each for each in _UNITS if high >= each[0]), _UNITS[-1])
    return f"{low / size:.5g} to {high / size:.5g} {unit}"


def number_cell(value: float | None) -> str:
    """A figure to four digits or whole."""
    return DASH if value is None else number(value)


def share_cell(value: float | None) -> str:
    """A part of the whole in percent."""
    return share(value)


def factor_cell(value: float | None) -> str:
    """A factor of run time."""
    return DASH if value is None else factor(value)


def bytes_cell(value: float | None, least: float | None) -> str:
    """Bytes, and how many times as many as are needed."""
    if value is None:
        return DASH
    shown = quantity(value, "byte")
    return f"{shown} ({factor(value / least)})" if least else shown


def defines_cell(defines: Mapping[str, object]) -> str:
    """``BX = 8, BY = 8`` as code."""
    return code(", ".join(f"{name} = {value}" for name, value in defines.items())) or DASH


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
