"""The table of all metrics of a launch."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import load_metrics, names_known, names_read
from kernelprof.model.launch_series import SERIES_COLUMN
from kernelprof.model.names import printable
from kernelprof.model.numbers import number
from kernelprof.report.document import Cell, Column, Section, Table
from kernelprof.report.figures import opcode_mix, roofline
from kernelprof.report.figures.measured import TENSOR_COLUMN
from kernelprof.report.private import shown

if TYPE_CHECKING:
    from kernelprof.report.figures.measured import Measured

MOST_WITH_ALL: Final = 20
"""Kernels of a page up to which the tables hold every column: 2,200 columns of ``--set full`` are
150 kB for each."""

_COLUMNS: Final = (
    Column("Metric"),
    Column("Value", number=True),
    Column("Unit"),
    Column("Meaning"),
)


class OfManyKernels:
    """Contains the names of the metrics that a page of many kernels shows or works with.

    Others need not be read for it.
    """

    def __init__(self) -> None:
        own = {column for _, column in opcode_mix.COLUMNS}
        self._names = names_known() | names_read() | roofline.COLUMNS | own

    def __contains__(self, name: object) -> bool:
        return name in self._names or TENSOR_COLUMN.match(str(name)) is not None


class MetricTables:
    """The columns that a page shows, looked up once for all its kernels."""

    def __init__(self, measured: Measured, *, everything: bool) -> None:
        by_ncu_name = {
            name: each for each in load_metrics().values() for name in each.all_ncu_names()
        }
        capture = measured.capture
        self._numbers = [
            (
                Cell(printable(name)),
                Cell(printable(column.unit)),
                Cell(by_ncu_name[name].why if name in by_ncu_name else ""),
                column.values,
            )
            for name, column in sorted(capture.columns.items())
            if everything or name in by_ncu_name
        ]
        texts = [each for each in sorted(capture.text.items()) if each[0] != SERIES_COLUMN]
        self._texts = [(Cell(printable(name)), cells) for name, cells in texts if everything]

    def section(self, row: int, kernel: str) -> Section:
        """The metrics that one launch has, by name."""
        rows: list[tuple[Cell, ...]] = [
            (name, _cell(value), unit, meaning)
            for name, unit, meaning, values in self._numbers
            if math.isfinite(value := values.item(row))
        ]
        nothing = Cell("")
        texts = ((name, cells[row]) for name, cells in self._texts)
        rows += [(name, Cell(shown(cell)), nothing, nothing) for name, cell in texts if cell]
        table = Table(_COLUMNS, tuple(rows), label=f"All metrics of {kernel}", long=True)
        return Section(f"All metrics ({len(rows):,})", (table,), folded=True)


@lru_cache(maxsize=1 << 14)
def _cell(value: float) -> Cell:
    """A number in full where it is whole; small ones keep the digits that the capture has."""
    return Cell(number(value) if value == 0 or abs(value) >= 1 else f"{value:.6g}")
