"""The raw page: one row a launch, one column a metric, a row of units under the header."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.model.capture import DEVICE_NAME, Launches, MetricColumn
from kernelprof.sources import identity
from kernelprof.sources.blocks import BlockParser, give_back_memory
from kernelprof.sources.columns import Wanted, columns_of_rows
from kernelprof.sources.numbers import NO_WORDS
from kernelprof.sources.page import Page, source_of, table_decimal
from kernelprof.sources.units import depends_on_unit, scale_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from kernelprof.model.capture import Launch
    from kernelprof.sources.columns import Columns, FloatArray, IntArray, Numbers, Words
    from kernelprof.sources.stream import Header, Table

_TEXT_COLUMNS: Final = frozenset(
    {
        "launch__kernel_name", "launch__tpc_enabled", "launch__func_cache_config",
        "launch__cluster_scheduling_policy", "device__attribute_confidential_computing_mode",
        DEVICE_NAME,
    }
)  # fmt: skip
"""Names that hold text even where every cell looks like a number or is empty."""
_WORKERS: Final = 2
"""Blocks that are parsed at a time; reading what they hold leaves more processors little to do."""

WORTH_A_BLOCK: Final = 1 << 20
"""Bytes from which loading the parser of whole blocks costs less than it saves."""

_SPARE: Final = 1.05
"""Room for rows that are shorter than the first; what is not needed is given back."""

_MOST_CODES: Final = 1 << 62
"""Combinations that an integer of 64 bits can number."""


class _Column:
    """A metric that grows with the rows of the stream; ``room`` is how many are expected."""

    def __init__(self, name: str, room: int) -> None:
        self.name = name
        self.unit = ""
        self.original_unit = ""
        self.texts: list[tuple[int, Words]] = []
        """Parts with words that are no numbers, and the row each begins in."""
        self.unavailable: set[str] | None = set()
        """Words where no number was so far; ``None`` once a part had numbers and no texts."""
        self._values = np.empty(room)
        self._length = 0

    def add(self, start: int, unit: str, numbers: Numbers) -> bool:
        """Take values for the rows from ``start`` on; whether their unit agrees."""
        scale = scale_of(unit)
        if not self.unit and (scale.unit or not self._length):
            # Versions of ncu differ in whether they give a count its unit.
            self.unit, self.original_unit = scale.unit, unit
        if scale.unit not in {self.unit, ""}:
            return False
        if numbers.texts and numbers.words is not None:
            self.texts.append((start, numbers.words))
        if numbers.words is None:
            self.unavailable = None
        elif self.unavailable is not None and not numbers.texts:
            self.unavailable.update(numbers.words.distinct)
        self._put(start, scale.apply(numbers.values))
        return True

    @property
    def is_text(self) -> bool:
        """Whether it holds texts: no part that says something says only numbers."""
        return bool(self.texts) and not self.unit and self.unavailable is not None

    def _put(self, start: int, values: FloatArray) -> None:
        end = start + len(values)
        if end > len(self._values):
            # In place: a copy of all columns of a long export would not fit beside it.
            self._values.resize(end + end // 8, refcheck=False)
        if start >= self._length:
            self._values[self._length : start] = np.nan
            self._values[start:end] = values
            self._length = end
            return
        # A second column of the same name in a table fills the gaps of the first.
        there = self._values[start:end]
        np.copyto(there, values, where=np.isnan(there))

    def finished(self, count: int) -> MetricColumn:
        """All values, NaN in the rows of tables without the column."""
        self._values.resize(count, refcheck=False)
        self._values[self._length :] = np.nan
        source = source_of(self.name)
        return MetricColumn(self.name, self._values, self.unit, self.original_unit, source)


class RawPage:
    """Unites the columns of several tables; what a table lacks is missing in its rows.

    ``only`` names the metrics to read: of a wide export most are nobody's concern. ``size`` is
    about how many bytes will come, 0 where nobody knows.
    """

    def __init__(self, only: Container[str] | None = None, size: int = 0) -> None:
        self._only = only
        self._size = size
        self._room = 0
        self._count = 0
        self._ids: list[str] = []
        self._codes: list[IntArray] = []
        self._kinds: dict[Launch, int] = {}
        self._columns: dict[str, _Column] = {}
        self._texts: dict[str, list[tuple[int, Words]]] = {}
        self._decimals: dict[tuple[Header, tuple[str, ...] | None], str] = {}
        self._parsers: dict[tuple[Header, tuple[str, ...] | None], BlockParser] = {}
        self._workers: ThreadPoolExecutor | None = None
        self._page = Page([])

    def __len__(self) -> int:
        return self._count

    def parse(self, table: Table, block: bytes) -> Callable[[], Columns | None] | None:
        """Begin to parse a block of rows of this table, if nothing else is in it."""
        key = table.header, table.units
        if len(block) < WORTH_A_BLOCK or table.units is None:
            return None
        if self._decimals.get(key, ".") != ".":
            return None
        if key not in self._parsers:
            self._parsers[key] = BlockParser(table.header, self._wanted(table))
        if self._workers is None:
            self._workers = ThreadPoolExecutor(_WORKERS)
        return self._workers.submit(self._parsers[key].parse, block).result

    def add(self, table: Table) -> None:
        """Take the next rows of the stream."""
        key = table.header, table.units
        columns = table.columns
        if columns is None:
            decimal = self._decimals.setdefault(key, table_decimal(table.header, table.rows))
            columns = columns_of_rows(table.header, table.rows, self._wanted(table), decimal)
        if table.units is None:
            self._page.warn(
                "A table has no row of units: metrics whose scale depends on it were left out."
            )
        if not self._room and columns.size:
            self._room = int(columns.count * self._size / columns.size * _SPARE)
        self._add_launches(table.header, columns)
        for at, words in columns.words.items():
            name = table.header.names[at]
            if not identity.is_identity(name):
                self._texts.setdefault(name, []).append((self._count, words))
        for at, numbers in columns.numbers.items():
            unit = table.units[at] if table.units else ""
            self._add_numbers(table.header.names[at], unit, numbers)
        self._count += columns.count

    def _wanted(self, table: Table) -> Wanted:
        """The columns to read: the first of each name that says who, and the metrics."""
        names = table.header.names
        words: dict[str, int] = {}
        numbers = []
        for at, name in enumerate(names):
            if identity.is_identity(name):
                if name not in words and name != "ID":
                    words[name] = at
            elif not self._is_wanted(name):
                continue
            elif name in _TEXT_COLUMNS:
                words.setdefault(name, at)
            elif table.units is not None or not depends_on_unit(name):
                numbers.append(at)
        return Wanted(names.index("ID"), tuple(words.values()), tuple(numbers))

    def _is_wanted(self, name: str) -> bool:
        return bool(name) and (self._only is None or name in self._only)

    def _add_launches(self, header: Header, columns: Columns) -> None:
        self._ids += columns.ids
        who = {
            header.names[at]: words
            for at, words in columns.words.items()
            if identity.is_identity(header.names[at])
        }
        codes = np.zeros(columns.count, dtype=np.intp)
        most = 1
        for words in who.values():
            if most * len(words.distinct) > _MOST_CODES:
                _, codes = np.unique(codes, return_inverse=True)
                most = columns.count
            codes = codes * len(words.distinct) + words.codes
            most *= len(words.distinct)
        _, rows, codes = np.unique(codes, return_index=True, return_inverse=True)
        chosen = {
            name: [words.distinct[code] for code in words.codes[rows].tolist()]
            for name, words in who.items()
        }
        kinds = identity.launches(chosen, len(rows))
        numbers = [self._kinds.setdefault(kind, len(self._kinds)) for kind in kinds]
        self._codes.append(np.array(numbers, dtype=np.intp)[codes])

    def _add_numbers(self, name: str, unit: str, numbers: Numbers) -> None:
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = _Column(name, self._room)
        if not column.add(self._count, unit, numbers):
            self._page.warn(
                f"{name} is in {column.unit} in one table and in {scale_of(unit).unit} in another: "
                "the second was left out."
            )

    def page(self) -> Page:
        """Everything that was added."""
        if self._workers is not None:
            self._workers.shutdown()
            give_back_memory()
        page = self._page
        codes = np.concatenate(self._codes) if self._codes else np.zeros(0, dtype=np.intp)
        page.launches = Launches(self._ids, codes, list(self._kinds))
        for name, column in self._columns.items():
            if column.is_text:
                self._texts.setdefault(name, []).extend(column.texts)
                continue
            page.columns[name] = column.finished(self._count)
            if column.unavailable:
                page.note_unavailable(name, column.unavailable)
        for name, texts in self._texts.items():
            if name not in page.columns:
                self._finish_text(name, texts)
        return page

    def _finish_text(self, name: str, texts: Iterable[tuple[int, Words]]) -> None:
        column = np.full(self._count, None, dtype=object)
        for start, words in texts:
            said = [None if word in NO_WORDS else word for word in words.distinct]
            there = column[start : start + len(words)]
            # A second column of the same name in a table fills the gaps of the first.
            gaps = there == np.array(None)
            there[gaps] = np.array(said, dtype=object)[words.codes[gaps]]
        self._page.text[name] = tuple(column.tolist())
