"""Columns of cells, and the capture that they are put together to.

Whoever reads rows, one by one or whole blocks of them, gives :class:`TableColumns`; the
:class:`CaptureBuilder` unites those of several tables.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.model.capture import Capture, Launch, Launches, MetricColumn, Origin
from kernelprof.sources.ncu.cells import (
    NO_TEXT,
    decimal_mark,
    origin_of,
    parse_launch,
    parse_number,
    scale_of,
    split_cells,
)
from kernelprof.sources.source import (
    BYTES_A_KERNEL,
    BYTES_A_VALUE,
    MOST_KERNELS,
    MOST_KINDS,
    MOST_LAUNCHES,
    MOST_VALUES,
    too_many,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from kernelprof.sources.ncu.cells import Header

    FloatArray = npt.NDArray[np.float64]
    IntArray = npt.NDArray[np.intp]

_UNAVAILABLE: Final = frozenset({"(!) n/a", "n/a", "N/A"})
_SAMPLE_BYTES: Final = 1 << 18
_MOST_CODES: Final = 1 << 62
"""Combinations that an integer of 64 bits can number."""


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of texts, each kept once: row ``r`` has ``distinct[codes[r]]``."""

    codes: IntArray
    distinct: Sequence[str]

    @staticmethod
    def from_cells(cells: Sequence[str]) -> TextColumn:
        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(cell, len(numbers)) for cell in cells]
        return TextColumn(np.array(codes, dtype=np.intp), list(numbers))

    def __len__(self) -> int:
        return len(self.codes)

    def cells(self) -> list[str]:
        """Return the texts, row by row."""
        return [self.distinct[code] for code in self.codes.tolist()]


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of numbers, NaN where a cell has none.

    ``texts`` is whether a cell is neither a number nor a word for a missing one. ``cells``
    are the cells as they were, where that matters: nothing in the column is a number, or something
    is a text.
    """

    values: FloatArray
    texts: bool = False
    cells: TextColumn | None = None

    @staticmethod
    def from_texts(cells: TextColumn, decimal: str = ".") -> NumberColumn:
        """Parse a column of texts as numbers."""
        read = [parse_number(cell, decimal=decimal) for cell in cells.distinct]
        values = np.array([np.nan if each is None else each for each in read])[cells.codes]
        texts = None in read
        keep = texts or bool(np.isnan(values).all())
        return NumberColumn(values, texts, cells if keep else None)


@dataclass(slots=True)
class TableColumns:
    """Some columns of rows of a table, by their position in it."""

    ids: Sequence[str] = ()
    texts: dict[int, TextColumn] = field(default_factory=dict)
    numbers: dict[int, NumberColumn] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which columns of a table to read: the positions of its IDs, of texts and of numbers."""

    ids: int
    texts: tuple[int, ...]
    numbers: tuple[int, ...]


def columns_of_rows(
    header: Header, rows: Sequence[bytes], selection: Selection, decimal: str = "."
) -> TableColumns:
    """Parse columns of single rows, each of which may be anything that is a row."""
    table = _split_rows(header, rows)

    def column(at: int) -> TextColumn:
        return TextColumn.from_cells([row[at] if at < len(row) else "" for row in table])

    return TableColumns(
        column(selection.ids).cells(),
        {at: column(at) for at in selection.texts},
        {at: NumberColumn.from_texts(column(at), decimal) for at in selection.numbers},
    )


def _split_rows(header: Header, rows: Sequence[bytes]) -> list[list[str]]:
    """Split all rows into cells; one by one where the joint text would be split otherwise."""
    text = b"\n".join(rows).decode("utf-8", "replace")
    try:
        table = list(csv.reader(io.StringIO(text, newline=""), delimiter=header.delimiter))
    except csv.Error:
        table = []
    if len(table) == len(rows):
        return table
    return [split_cells(row, header.delimiter) or [] for row in rows]


def table_decimal(header: Header, rows: Sequence[bytes]) -> str:
    """Return the decimal mark of a table, judged by its first rows."""
    if header.delimiter == "," and not rows[0].startswith(b'"'):
        return "."
    sizes = accumulate(map(len, rows), initial=0)
    sample = [row for row, size in zip(rows, sizes, strict=False) if size <= _SAMPLE_BYTES]
    return decimal_mark(b"\n".join([*sample, b""]))


class _MetricBuilder:
    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.unit = ""
        self.original_unit = ""
        self.texts: list[tuple[IntArray | slice, TextColumn]] = []
        """Parts with cells that are not numbers, and the launches that each is of."""
        self.unavailable: set[str] | None = set()
        """Cells where no number was so far; ``None`` once a part had numbers and no texts."""
        self._values = np.empty(0)
        self._length = 0

    @property
    def is_text(self) -> bool:
        """Whether it holds texts: no part has numbers alone."""
        return bool(self.texts) and not self.unit and self.unavailable is not None

    def add(self, at: IntArray | slice, unit: str, numbers: NumberColumn) -> bool:
        """Add values for launches; return whether their unit agrees with that of the others."""
        scale = scale_of(unit)
        if not self.unit and (scale.unit or not self._length):
            # Versions of ncu differ in whether they give a count its unit.
            self.unit, self.original_unit = scale.unit, unit
        if scale.unit not in {self.unit, ""}:
            return False
        if numbers.texts and numbers.cells is not None:
            self.texts.append((at, numbers.cells))
        if numbers.cells is None:
            self.unavailable = None
        elif self.unavailable is not None and not numbers.texts:
            self.unavailable.update(numbers.cells.distinct)
        self._store_values(at, scale.apply(numbers.values))
        return True

    def _store_values(self, at: IntArray | slice, values: FloatArray) -> None:
        end = at.stop if isinstance(at, slice) else int(at.max(initial=-1)) + 1
        if end > len(self._values):
            # In place: a copy of all columns of a long export would not fit beside it.
            self._values.resize(end + end // 8, refcheck=False)
        if end > self._length:
            self._values[self._length : end] = np.nan
        if not isinstance(at, slice) or at.start < self._length:
            earlier = self._values[at]
            values = np.where(np.isnan(earlier), values, earlier)
        self._values[at] = values
        self._length = max(end, self._length)

    def values(self, count: int) -> FloatArray:
        """Return all values so far, NaN for launches without one."""
        if len(self._values) != count:
            self._values.resize(count, refcheck=False)
        self._values[self._length :] = np.nan
        self._length = count
        return self._values


class CaptureBuilder:
    """Unites columns of several tables; what a table lacks is missing for its launches.

    What was added first stays: a second column of the same name fills the gaps of the first.
    """

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._codes: list[IntArray] = []
        self._kinds: dict[Launch, int] = {}
        self._metrics: dict[str, _MetricBuilder] = {}
        self._texts: dict[str, list[tuple[IntArray | slice, TextColumn]]] = {}
        self._warnings: dict[str, bool] = {}
        self._kernels: set[object] = set()

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def metrics(self) -> set[str]:
        """The names of what has numbers so far."""
        return {name for name, metric in self._metrics.items() if not metric.is_text}

    def warn(self, sentence: str, *, damage: bool = False) -> None:
        """Add a warning for the user, once; ``damage`` where the capture is not whole."""
        self._warnings[sentence] = damage

    def drop_contradictions(
        self, name: str, at: IntArray | slice, unit: str, numbers: NumberColumn
    ) -> bool:
        """Return whether a second column of a metric has other values; then neither is taken."""
        metric, scale = self._metrics[name], scale_of(unit)
        if metric.unit != scale.unit:
            return False
        earlier, values = metric.values(len(self)), scale.apply(numbers.values)
        wrong = ~np.isnan(earlier[at]) & ~np.isnan(values) & (earlier[at] != values)
        earlier[at] = np.where(wrong, np.nan, earlier[at])
        return bool(wrong.any())

    def add_launches(self, ids: Sequence[str], identity: Mapping[str, TextColumn]) -> slice:
        """Add launches by their IDs and identity columns; return their rows."""
        start, count = len(self._ids), len(ids)
        codes = np.zeros(count, dtype=np.intp)
        most = 1
        for column in identity.values():
            if most * len(column.distinct) > _MOST_CODES:
                _, codes = np.unique(codes, return_inverse=True)
                most = count
            codes = codes * len(column.distinct) + column.codes
            most *= len(column.distinct)
        _, rows, codes = np.unique(codes, return_index=True, return_inverse=True)
        numbers = []
        for row in rows.tolist():
            cells = {name: each.distinct[each.codes[row]] for name, each in identity.items()}
            launch = parse_launch(cells)
            numbers.append(self._kinds.setdefault(launch, len(self._kinds)))
            self._kernels.add((launch.kernel, launch.grid, launch.block))
        self._ids += ids
        self._codes.append(np.array(numbers, dtype=np.intp)[codes])
        return slice(start, start + count)

    def check(self, size: int) -> None:
        """Raise :class:`NoCaptureError` for more than fits in memory; ``size``: bytes of text."""
        columns = len(self._metrics) + len(self._texts)
        limits = (
            (len(self), MOST_LAUNCHES, "launches"),
            (len(self._kernels), max(MOST_KERNELS, size // BYTES_A_KERNEL), "different kernels"),
            (len(self._kinds), MOST_KINDS, "different combinations of kernel, stream and process"),
            (len(self) * columns, max(MOST_VALUES, size // BYTES_A_VALUE), "values"),
        )
        for count, most, what in limits:
            if count > most:
                raise too_many(what, most)

    def add_numbers(
        self,
        name: str,
        at: IntArray | slice,
        unit: str,
        numbers: NumberColumn,
        origin: Origin | None = None,
    ) -> str | None:
        """Add values of a metric; return its unit where theirs differs and they were left out."""
        if name not in self._metrics:
            self._metrics[name] = _MetricBuilder(origin or origin_of(name))
        metric = self._metrics[name]
        return None if metric.add(at, unit, numbers) else metric.unit

    def add_texts(self, name: str, at: IntArray | slice, texts: TextColumn) -> None:
        """Add texts of a column that has no numbers."""
        self._texts.setdefault(name, []).append((at, texts))

    def values(self, name: str) -> FloatArray | None:
        """Return the values of a metric for all launches; ``None`` where nothing gave it."""
        metric = self._metrics.get(name)
        return None if metric is None else metric.values(len(self))

    def rename(self, name: str, to: str) -> None:
        """Rename a metric; it replaces a metric of that name."""
        self._metrics[to] = self._metrics.pop(name)

    def capture(self, origin: str, warnings: Sequence[str] = ()) -> Capture:
        """Return all that was added; ``warnings``, of lost rows, come before those of columns."""
        codes = np.concatenate(self._codes) if self._codes else np.zeros(0, dtype=np.intp)
        columns: dict[str, MetricColumn] = {}
        unavailable = set()
        for name, metric in self._metrics.items():
            if metric.is_text:
                self._texts.setdefault(name, []).extend(metric.texts)
                continue
            columns[name] = MetricColumn(
                name, metric.values(len(self)), metric.unit, metric.original_unit, metric.origin
            )
            if metric.unavailable and {each.strip() for each in metric.unavailable} <= _UNAVAILABLE:
                unavailable.add(name)
        return Capture(
            launches=Launches(self._ids, codes, list(self._kinds)),
            columns=columns,
            text={name: self._text_column(name) for name in self._texts if name not in columns},
            origin=origin,
            warnings=(*warnings, *self._warnings),
            damage=(*warnings, *(each for each, damage in self._warnings.items() if damage)),
            unavailable=frozenset(unavailable),
        )

    def _text_column(self, name: str) -> tuple[str | None, ...]:
        column: list[str | None] = [None] * len(self)
        for at, texts in self._texts[name]:
            rows = range(len(self))[at] if isinstance(at, slice) else at.tolist()
            distinct = [None if text in NO_TEXT else text for text in texts.distinct]
            for row, code in zip(rows, texts.codes.tolist(), strict=True):
                if column[row] is None:
                    column[row] = distinct[code]
        return tuple(column)
