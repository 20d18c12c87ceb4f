"""Blocks of regular rows, parsed as a whole by Arrow.

Regular is what ``ncu`` writes: each cell in quotes, as many in each row as in the header, an ID
that is a number. A block with anything else is left to the careful reader, so that both give the
same columns of the same bytes.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.tables.columns import Columns, Numbers, Wanted, Words, numbers_of
from kernelprof.tables.numbers import MISSING_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.tables.columns import FloatArray
    from kernelprof.tables.stream import Header

_QUOTE: Final = b'"'[0]
_NEWLINE: Final = b"\n"[0]
_PIECE: Final = 1 << 20


class BlockParser:
    """Parses the blocks of one table; what it learns of a column serves the next block.

    Several threads may parse at a time. What one learns while another reads comes too late for
    that one, and changes no result: a column is understood by the type that it was read as.
    """

    def __init__(self, header: Header, wanted: Wanted) -> None:
        self._header = header
        self._wanted = wanted
        self._learning = Lock()
        self._plain: set[int] = set()
        """Columns that were plain numbers so far: no thousands separators, no words."""
        self._coded: set[int] = set()
        """Columns of few different cells, as those of the launch and the device are."""
        self._grouped: set[int] = set()
        """Columns that were numbers with thousands separators so far."""
        self._first = True

    def parse(self, block: bytes) -> Columns | None:
        """The wanted columns; ``None`` where the block is not regular."""
        header = self._header
        if header.delimiter != "," or not header.quoted or header.is_details:
            return None
        rows = _regular_rows(block, len(header.names))
        if rows is None:
            return None
        import pyarrow as pa

        with self._learning:
            plain, coded = tuple(self._plain), tuple(self._coded)
        table = _read(block, len(header.names), self._wanted, plain, coded)
        if table is None and plain:
            with self._learning:
                self._plain.clear()
            table = _read(block, len(header.names), self._wanted, (), coded)
        if table is None or len(table) != rows:
            return None
        ids = table.column(str(self._wanted.ids))
        if not _are_numbers(ids):
            return None
        columns = Columns(rows, ids.to_pylist())
        for at in self._wanted.words:
            columns.words[at] = _words(table.column(str(at)))
        for at in self._wanted.numbers:
            column = table.column(str(at))
            columns.numbers[at] = self._numbers(at, column, pa)
        self._first = False
        return columns

    def _numbers(self, at: int, column: Any, pa: Any) -> Numbers:
        if column.type == pa.float64():
            values = _floats(column)
            finite = np.isfinite(values)
            if finite.all():
                return Numbers(values)
            if finite.any():
                return Numbers(np.where(finite, values, np.nan))
            values = np.full(len(values), np.nan)
            # Which word stands there instead of a number matters where no number does.
            with self._learning:
                self._plain.discard(at)
            return Numbers(values, words=Words(np.zeros(len(values), dtype=np.intp), [""]))
        if pa.types.is_dictionary(column.type):
            words = _words(column)
            if len(words.distinct) > _FEW:
                with self._learning:
                    self._coded.discard(at)
            return numbers_of(words)
        return self._numbers_of_texts(at, column, pa)

    def _numbers_of_texts(self, at: int, column: Any, pa: Any) -> Numbers:
        import pyarrow.compute as pc

        if at in self._grouped:
            try:
                bare = pc.replace_substring(column, ",", "")
                values = _floats(pc.cast(bare, pa.float64()))
                return Numbers(np.where(np.isfinite(values), values, np.nan))
            except pa.ArrowInvalid:
                self._grouped.discard(at)
        known = column
        if not pc.all(pc.match_substring_regex(column, _NUMBER)).as_py():
            missing = pc.is_in(column, _texts(_MISSING))
            known = pc.if_else(missing, pa.nulls(len(column), pa.string()), column)
            numbers = pc.match_substring_regex(known, _NUMBER)
            if known.null_count == len(known) or not pc.all(numbers).as_py():
                self._note_few(at, column)
                return numbers_of(_words(column))
        bare = pc.replace_substring(known, ",", "")
        if not bare.equals(known):
            self._note_few(at, column)
            self._grouped.add(at)
        elif at not in self._coded:
            with self._learning:
                self._plain.add(at)
        return Numbers(_floats(pc.cast(bare, pa.float64())))

    def _note_few(self, at: int, column: Any) -> None:
        if self._first and len(column.unique()) <= _FEW:
            with self._learning:
                self._coded.add(at)


_FEW: Final = 64
"""Different cells a block that Python reads faster one by one than Arrow reads all of them."""

_NUMBER: Final = r"^-?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?$"
"""How ``ncu`` writes a number; another way of writing one is read more slowly."""

_MISSING: Final = sorted(set(MISSING_WORDS))
_NO_NUMBER: Final = ["", "n/a", "(!) n/a", "no data"]
"""What ncu writes for a missing number. ``nan`` and ``inf`` are read as numbers, and not kept."""


def give_back_memory() -> None:
    """Let go of what Arrow keeps for further blocks; there are none."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def _regular_rows(block: bytes, width: int) -> int | None:
    """How many rows a block has, if each line is one; that each has all cells is not looked at.

    Counting quotes and looking at the ends of lines is fast, and says enough: the parser refuses a
    row of another length.
    """
    if b"\0" in block or not block.startswith(b'"') or not block.endswith(b'"\n'):
        return None
    text = np.frombuffer(block, dtype=np.uint8)
    rows = quotes = 0
    # In pieces that a processor's cache holds; each looks at one byte beyond both of its ends.
    for start in range(0, len(text), _PIECE):
        piece = text[start : start + _PIECE]
        quotes += int(np.count_nonzero(piece == _QUOTE))
        ends = np.flatnonzero(piece == _NEWLINE) + start
        rows += len(ends)
        inner = ends[ends < len(text) - 1]
        if (text[ends - 1] != _QUOTE).any() or (text[inner + 1] != _QUOTE).any():
            return None
    return rows if quotes == 2 * width * rows else None


def _read(
    block: bytes, width: int, wanted: Wanted, plain: Iterable[int], coded: Iterable[int]
) -> Any:
    """The wanted columns as an Arrow table; ``None`` where a row or a cell does not fit."""
    import pyarrow as pa
    from pyarrow import csv

    texts: dict[str, Any] = {str(at): pa.string() for at in (wanted.ids, *wanted.numbers)}
    words = {str(at): pa.dictionary(pa.int32(), pa.string()) for at in (*wanted.words, *coded)}
    numbers = {str(at): pa.float64() for at in plain}
    types = {**texts, **words, **numbers}
    try:
        return csv.read_csv(
            pa.BufferReader(block),
            read_options=csv.ReadOptions(
                use_threads=False,
                column_names=[str(at) for at in range(width)],
                block_size=len(block) + 1,
            ),
            parse_options=csv.ParseOptions(ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                include_columns=list(types), column_types=types, null_values=_NO_NUMBER
            ),
        )
    except pa.ArrowInvalid:
        return None


def _are_numbers(ids: Any) -> bool:
    import pyarrow.compute as pc

    return bool(pc.all(pc.ascii_is_decimal(ids)).as_py())


# Where pandas is installed, pa.array, pa.scalar and to_numpy load it, which takes longer than most
# captures take to read.


def _floats(column: Any) -> FloatArray:
    """The numbers of a column of one chunk, NaN where it has none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = column.chunk(0)
    if numbers.null_count:
        none = pa.py_buffer(np.full(len(numbers), np.nan))
        missing = pa.Array.from_buffers(pa.float64(), len(numbers), [None, none])
        numbers = pc.coalesce(numbers, missing)
    return np.from_dlpack(numbers).astype(np.float64, copy=False)


def _texts(words: Sequence[str]) -> Any:
    """An Arrow array of words."""
    import pyarrow as pa

    encoded = [word.encode() for word in words]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    buffers = pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))
    return pa.StringArray.from_buffers(len(words), *buffers)


def _words(column: Any) -> Words:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    # One piece of a block is one chunk: nothing has to be united.
    whole = column.chunk(0)
    codes = np.from_dlpack(whole.indices).astype(np.intp)
    return Words(codes, whole.dictionary.to_pylist())
