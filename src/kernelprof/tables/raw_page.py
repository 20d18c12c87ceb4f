"""The raw page: one row a launch, one column a metric, a row of units under the header."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.model.capture import Launch, MetricColumn
from kernelprof.tables import identity
from kernelprof.tables.numbers import NO_WORDS, parse_numbers
from kernelprof.tables.page import Page, read_frame, source_of, table_decimal
from kernelprof.tables.units import depends_on_unit, scale_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from kernelprof.tables.numbers import FloatArray
    from kernelprof.tables.stream import Header, Table

_TEXT_COLUMNS: Final = frozenset(
    {
        "launch__kernel_name", "launch__tpc_enabled", "launch__func_cache_config",
        "launch__cluster_scheduling_policy", "device__attribute_display_name",
        "device__attribute_confidential_computing_mode",
    }
)  # fmt: skip
"""Names that hold text even where every cell looks like a number or is empty."""


def read_raw(tables: Sequence[Table]) -> Page:
    """All launches of all tables, in the order of the stream; columns are united."""
    groups: dict[tuple[Header, tuple[str, ...] | None], list[Table]] = {}
    for table in tables:
        groups.setdefault((table.header, table.units), []).append(table)
    builder = _Builder(tables)
    for (header, units), members in groups.items():
        builder.add(header, units, members)
    return builder.page()


class _Builder:
    """Unites the columns of several tables; what a table lacks is missing in its rows."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._starts: dict[int, int] = {}
        self._count = 0
        for table in tables:
            self._starts[id(table)] = self._count
            self._count += len(table.rows)
        self._launches: dict[int, Launch] = {}
        self._columns: dict[str, MetricColumn] = {}
        self._text: dict[str, list[str | None]] = {}
        self._page = Page([])

    def add(self, header: Header, units: tuple[str, ...] | None, tables: list[Table]) -> None:
        """Read the rows of tables that share header and units."""
        rows = [row for table in tables for row in table.rows]
        starts = [self._starts[id(table)] for table in tables]
        at = np.concatenate(
            [
                np.arange(start, start + len(table.rows))
                for start, table in zip(starts, tables, strict=True)
            ]
        )
        decimal = table_decimal(header, rows)
        keep = frozenset(
            index
            for index, name in enumerate(header.names)
            if identity.is_identity(name) or name in _TEXT_COLUMNS
        )
        frame = read_frame(header, rows, text=keep, decimal=decimal)
        self._add_launches(header, frame, at)
        if units is None:
            self._page.warn(
                "A table has no row of units: metrics whose scale depends on it were left out."
            )
        for index, name in enumerate(header.names):
            if not name or identity.is_identity(name):
                continue
            if units is None and depends_on_unit(name):
                continue
            self._add_column(name, units[index] if units else "", frame[index], at, decimal)
        self._find_unavailable(header, rows)

    def _add_launches(self, header: Header, frame: pd.DataFrame, at: Any) -> None:
        who = {
            name: frame[index].tolist()
            for index, name in reversed([*enumerate(header.names)])
            if identity.is_identity(name)
        }
        launches = identity.launches(who, len(frame))
        self._launches.update(zip(at.tolist(), launches, strict=True))

    def _add_column(
        self, name: str, unit: str, cells: pd.Series[Any], at: Any, decimal: str
    ) -> None:
        if name in _TEXT_COLUMNS:
            self._add_text(name, cells.tolist(), at)
            return
        if cells.dtype.kind in "iuf":
            values = cells.to_numpy(dtype=np.float64, na_value=np.nan)
            self._add_numbers(name, unit, np.where(np.isinf(values), np.nan, values), at)
            return
        words = cells.astype(object).where(cells.notna(), "").map(str).tolist()
        values, texts = parse_numbers(words, decimal=decimal)
        if texts and not unit:
            self._add_text(name, words, at)
        else:
            self._add_numbers(name, unit, values, at)

    def _add_text(self, name: str, cells: Sequence[str], at: Any) -> None:
        column = self._text.setdefault(name, [None] * self._count)
        for position, cell in zip(at.tolist(), cells, strict=True):
            if cell not in NO_WORDS:
                column[position] = cell

    def _add_numbers(self, name: str, unit: str, values: FloatArray, at: Any) -> None:
        scale = scale_of(unit)
        known = self._columns.get(name)
        if known is None or (not known.unit and scale.unit):
            # Versions of ncu differ in whether they give a count its unit.
            column = np.full(self._count, np.nan) if known is None else known.values
            known = MetricColumn(name, column, scale.unit, unit, source_of(name))
            self._columns[name] = known
        if scale.unit not in {known.unit, ""}:
            self._page.warn(
                f"{name} is in {known.unit} in one table and in {scale.unit} in another: "
                "the second was left out."
            )
            return
        column = known.values
        column[at] = np.where(np.isnan(column[at]), scale.apply(values), column[at])

    def _find_unavailable(self, header: Header, rows: Sequence[bytes]) -> None:
        empty = [
            index
            for index, name in enumerate(header.names)
            if name in self._columns and np.isnan(self._columns[name].values).all()
        ]
        if empty and any(b"n/a" in row or b"N/A" in row for row in rows):
            frame = read_frame(header, rows, text=None, decimal=".")
            for index in empty:
                self._page.note_unavailable(header.names[index], frame[index].tolist())

    def page(self) -> Page:
        """Everything that was added."""
        page = self._page
        page.launches = [self._launches[row] for row in range(self._count)]
        page.columns = self._columns
        page.text = {
            name: tuple(cells) for name, cells in self._text.items() if name not in self._columns
        }
        page.unavailable = {
            name
            for name in page.unavailable
            if name not in self._columns or np.isnan(self._columns[name].values).all()
        }
        return page
