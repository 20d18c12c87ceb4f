"""The table of all metrics of a launch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kernelprof.model.names import printable
from kernelprof.model.numbers import number
from kernelprof.report.html.build.private import shown
from kernelprof.report.html.view import Metric, MetricRows

if TYPE_CHECKING:
    from kernelprof.analysis.metrics.catalogue import Metric as Known
    from kernelprof.report.html.build.measured import Measured


class MetricTable:
    """The columns that a page shows, looked up once for all its kernels."""

    def __init__(self, measured: Measured, *, everything: bool) -> None:
        known = measured.by_ncu_name
        columns = measured.capture.columns
        self._numbers = [
            (_metric(name, column.unit, known.get(name)), column.values)
            for name, column in sorted(columns.items())
            if everything or name in known
        ]
        texts = sorted(measured.capture.text.items()) if everything else []
        self._texts = [(Metric(printable(name), ""), cells) for name, cells in texts]

    def of(self, row: int) -> MetricRows:
        """The metrics that one launch has, by name."""
        found = [
            (metric, _text(value))
            for metric, values in self._numbers
            if math.isfinite(value := values.item(row))
        ]
        found += [(metric, shown(cell)) for metric, cells in self._texts if (cell := cells[row])]
        return MetricRows(tuple(each for each, _ in found), tuple(text for _, text in found))


def _metric(name: str, unit: str, known: Known | None) -> Metric:
    return Metric(printable(name), printable(unit), "" if known is None else known.why)


def _text(value: float) -> str:
    """A number in full where it is whole; small ones keep the digits that the capture has."""
    return number(value) if value == 0 or abs(value) >= 1 else f"{value:.6g}"
