"""The table of all metrics of a launch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kernelprof.render.html.build.private import shown
from kernelprof.render.html.view import Metric
from kernelprof.render.names import printable
from kernelprof.render.numbers import number

if TYPE_CHECKING:
    from kernelprof.model.capture import MetricColumn
    from kernelprof.render.html.build.measured import Measured


class MetricTable:
    """The columns that a page shows, looked up once for all its kernels."""

    def __init__(self, measured: Measured, *, everything: bool) -> None:
        known = measured.by_ncu_name
        columns = measured.capture.columns
        self._columns: list[tuple[str, MetricColumn, str]] = [
            (printable(name), column, known[name].why if name in known else "")
            for name, column in sorted(columns.items())
            if everything or name in known
        ]
        self._texts = sorted(measured.capture.text.items()) if everything else []

    def of(self, row: int) -> tuple[Metric, ...]:
        """The metrics that one launch has, by name."""
        numbers = [
            Metric(name, _text(value), printable(column.unit), meaning)
            for name, column, meaning in self._columns
            if math.isfinite(value := float(column.values[row]))
        ]
        texts = [
            Metric(printable(name), shown(cell), "")
            for name, cells in self._texts
            if (cell := cells[row])
        ]
        return (*numbers, *texts)


def _text(value: float) -> str:
    """A number in full where it is whole; small ones keep the digits that the capture has."""
    return number(value) if value == 0 or abs(value) >= 1 else f"{value:.6g}"
