"""Blocks of regular rows, parsed as a whole by Arrow.

Regular is what ``ncu`` writes: each cell in quotes, as many in each row as in the header, an ID
that is a number. A block with anything else is left to the careful reader, so that both give the
same columns of the same bytes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from kernelprof.sources.ncu.cells import MISSING
from kernelprof.sources.ncu.columns import NumberColumn, Selection, TableColumns, TextColumn

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kernelprof.sources.ncu.cells import Header
    from kernelprof.sources.ncu.columns import FloatArray

_QUOTE: Final = b'"'[0]
_NEWLINE: Final = b"\n"[0]
_CHUNK_BYTES: Final = 1 << 20


class BlockParser:
    """Parses the blocks of one table; what it learns of a column serves the next block.

    Several threads may parse at a time. What one learns while another reads comes too late for
    that one, and changes no result: a column is understood by the type that it was read as, and
    all that is shared is a dictionary whose items are set and copied as a whole.
    """

    def __init__(self, header: Header, selection: Selection) -> None:
        self._header = header
        self._selection = selection
        self._ways: dict[int, str] = {}
        """How to read a column: ``plain`` numbers have neither separators nor texts beside them,
        ``grouped`` ones have separators, ``coded`` cells are few different ones, as those of the
        launch and the device. All others are read as texts."""
        self._first = True

    def parse(self, block: bytes) -> TableColumns | None:
        """Return the selected columns; ``None`` where the block is not regular."""
        header = self._header
        if header.delimiter != "," or not header.quoted or header.is_details:
            return None
        rows = _count_regular_rows(block, len(header.names))
        if rows is None:
            return None
        import pyarrow as pa

        ways = self._ways.copy()
        table = _read_columns(block, len(header.names), self._selection, ways)
        if table is None and "plain" in ways.values():
            ways = {at: way for at, way in ways.items() if way != "plain"}
            self._ways = ways.copy()
            table = _read_columns(block, len(header.names), self._selection, ways)
        if table is None or len(table) != rows:
            return None
        ids = table.column(str(self._selection.ids)).to_pylist()
        digits = "".join(ids)
        if not (digits.isascii() and digits.isdecimal() and all(ids)):
            return None
        columns = TableColumns(ids)
        for at in self._selection.texts:
            columns.texts[at] = _to_text_column(table.column(str(at)))
        numbers = self._take_plain_numbers(table)
        cells = {}
        for at in self._selection.numbers:
            column = table.column(str(at))
            if pa.types.is_dictionary(column.type):
                texts = _to_text_column(column)
                if len(texts.distinct) > _FEW:
                    self._ways.pop(at, None)
                numbers[at] = NumberColumn.from_texts(texts)
            elif at not in numbers:
                cells[at] = column.to_pylist()
        numbers |= self._parse_texts(cells, ways)
        columns.numbers = {at: numbers[at] for at in self._selection.numbers}
        self._first = False
        return columns

    def _take_plain_numbers(self, table: Any) -> dict[int, NumberColumn]:
        import pyarrow as pa

        names = [field.name for field in table.schema if field.type == pa.float64()]
        if not names:
            return {}
        values = _to_matrix(table.select(names))
        finite = np.isfinite(values.sum(axis=0)).tolist()
        columns_read = {}
        for name, column, all_finite in zip(names, values.T, finite, strict=True):
            at = int(name)
            if not all_finite:
                column[np.isinf(column)] = np.nan
            has_numbers = all_finite or not np.isnan(column).all()
            columns_read[at] = NumberColumn(column) if has_numbers else self._keep_words(at, column)
        return columns_read

    def _keep_words(self, at: int, values: FloatArray) -> NumberColumn:
        """Keep the words of a column that has no number: they tell why."""
        self._ways.pop(at, None)
        return NumberColumn(values, cells=TextColumn(np.zeros(len(values), dtype=np.intp), [""]))

    def _parse_texts(
        self, cells: Mapping[int, Sequence[str]], ways: Mapping[int, str]
    ) -> dict[int, NumberColumn]:
        """Parse columns of texts as numbers; learn how to read them in the next block."""
        lines = {at: "\n".join(column) for at, column in cells.items()}
        values = _parse_number_lines(lines, [at for at in lines if at in ways])
        columns_read = {}
        for at, text in lines.items():
            is_number = at in values and not np.isnan(values[at]).all()
            if is_number and at not in ways and "," not in text:
                self._ways[at] = "plain"
            elif self._first and len(set(cells[at])) <= _FEW:
                self._ways[at] = "coded"
            elif is_number:
                self._ways[at] = "grouped"
            else:
                self._ways.pop(at, None)
            if is_number:
                columns_read[at] = NumberColumn(values[at])
            else:
                columns_read[at] = NumberColumn.from_texts(TextColumn.from_cells(cells[at]))
        return columns_read


_FEW: Final = 64
"""Different cells a block that Python reads faster one by one than Arrow reads all of them."""

_MISSING: Final = sorted(MISSING)
_CELL: Final = r"-?(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?"
_WORD: Final = "|".join(map(re.escape, _MISSING[::-1]))
_NUMBERS: Final = re.compile(rf"(?:(?:{_CELL}|{_WORD})(?:\n|$))*+", re.ASCII)
"""Lines of numbers as ``ncu`` groups their digits, and of words for a missing number."""


def give_back_memory() -> None:
    """Release the memory that is kept for further blocks; there are none."""
    import pyarrow as pa

    pa.system_memory_pool().release_unused()


def _count_regular_rows(block: bytes, width: int) -> int | None:
    """Count the rows of a block in which each line is one and each cell is quoted.

    Counting is fast and sufficient: the parser refuses a row of another length, an ID that is no
    number belongs to no row, and cells with lines in them make fewer rows than lines.
    """
    if b"\0" in block or not block.startswith(b'"') or not block.endswith(b'"\n'):
        return None
    text = np.frombuffer(block, dtype=np.uint8)
    rows = quotes = 0
    # In pieces that a processor's cache holds.
    for start in range(0, len(text), _CHUNK_BYTES):
        chunk = text[start : start + _CHUNK_BYTES]
        quotes += int(np.count_nonzero(chunk == _QUOTE))
        rows += int(np.count_nonzero(chunk == _NEWLINE))
    return rows if quotes == 2 * width * rows else None


def _read_columns(block: bytes, width: int, selection: Selection, ways: Mapping[int, str]) -> Any:
    import pyarrow as pa

    text, coded = pa.string(), pa.dictionary(pa.int32(), pa.string())
    types = {"plain": pa.float64(), "coded": coded, "grouped": text}
    columns_read: dict[str, Any] = {str(selection.ids): text}
    columns_read |= {str(at): types[ways.get(at, "grouped")] for at in selection.numbers}
    columns_read |= {str(at): coded for at in selection.texts}
    return _read_csv(block, width, columns_read, quote='"')


def _parse_number_lines(
    columns: Mapping[int, str], grouped: Collection[int]
) -> dict[int, FloatArray]:
    """Parse the columns that hold nothing but numbers, a line a number.

    Those that are known to be ``grouped`` are not looked at if all of them can be read.
    """
    for certain in (grouped, ()):
        chosen = [at for at, text in columns.items() if at in certain or _NUMBERS.fullmatch(text)]
        if not chosen:
            return {}
        values = _parse_floats("\n".join(columns[at] for at in chosen).replace(",", ""))
        if values is not None and len(values) % len(chosen) == 0:
            return dict(zip(chosen, values.reshape(len(chosen), -1), strict=True))
    return {}


def _parse_floats(lines: str) -> FloatArray | None:
    import pyarrow as pa

    table = _read_csv(lines.encode() + b"\n", 1, {"0": pa.float64()}, quote=False)
    if table is None:
        return None
    values = _to_matrix(table)[:, 0]
    values[np.isinf(values)] = np.nan
    return values


def _read_csv(
    text: bytes, width: int, types: Mapping[str, Any], *, quote: str | Literal[False]
) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    try:
        return csv.read_csv(
            pa.BufferReader(text),
            read_options=csv.ReadOptions(
                use_threads=False,
                column_names=[str(at) for at in range(width)],
                block_size=len(text) + 1,
            ),
            parse_options=csv.ParseOptions(ignore_empty_lines=False, quote_char=quote),
            convert_options=csv.ConvertOptions(
                include_columns=list(types), column_types=types, null_values=_MISSING
            ),
            memory_pool=pa.system_memory_pool(),
        )
    except pa.ArrowInvalid:
        return None


def _to_matrix(table: Any) -> FloatArray:
    # What was read in one piece is one batch.
    (batch,) = table.to_batches()
    matrix: FloatArray = batch.to_tensor(null_to_nan=True, row_major=False).to_numpy()
    return matrix


def _to_text_column(column: Any) -> TextColumn:
    # One piece of a block is one chunk: nothing has to be united.
    whole = column.chunk(0)
    codes = np.from_dlpack(whole.indices).astype(np.intp)
    return TextColumn(codes, whole.dictionary.to_pylist())
