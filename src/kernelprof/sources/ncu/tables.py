"""Finds the tables of ``ncu --csv`` in a stream of bytes.

Program output and ``==PROF==`` lines are before, between and after the rows; one stream may hold
several exports, each with its own header and units; cells may hold newlines (NVTX), and
spreadsheets re-save with other separators and without quotes. What is a row is decided line by
line: it has as many cells as the header and its ID is a number. All other lines are kept aside.

Most of a long export needs no such care. A block of it whose every line is a row as ``ncu`` writes
them is parsed as a whole, by whoever reads the tables.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from kernelprof.sources.ncu.cells import Header, split_cells
from kernelprof.sources.source import LONGEST_ROW, MOST_COLUMNS, NoCaptureError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kernelprof.sources.ncu.columns import TableColumns

    ParseBlock = Callable[["CsvTable", bytes], Callable[[], TableColumns | None] | None]
    """Begins to parse a block of a table's rows; what it returns waits for the columns. ``None`` at
    once or in the end: the block has to be taken apart."""

_DELIMITERS: Final = (",", ";", "\t", "|")
_MOST_LINES_A_ROW: Final = 400
"""NVTX ranges put one line a range into a cell; deeper nesting than this is not a row."""
_MOST_OTHER_LINES: Final = 200
_MOST_NCU_LINES: Final = 100_000
"""Lines of ``ncu`` that are kept: one for each launch of a long capture, and what it warned of."""
_MOST_STRAY_LINES: Final = 2_000_000
"""Lines that are looked at and are no rows, such as a program's: a broken row takes 8 us."""
_LONGEST_OTHER_LINE: Final = 1 << 14
"""Of a line that is no row."""
_PROFILER: Final = re.compile(r"==[A-Z]+==")
_AHEAD: Final = 2
"""Blocks that are begun while one is waited for."""
_GATHERED: Final = 1 << 23
"""Bytes of single rows that are passed on together."""
_ROW: Final = 64
"""Bytes that a row takes beside its text."""


@dataclass(slots=True)
class CsvTable:
    """Rows under one header and one row of units, as the bytes that were there.

    ``units`` has one unit a column, ``None`` where the table has no such row. All parts of one
    table share the header object. ``columns`` has what a whole block was parsed to, which then has
    no ``rows``.
    """

    header: Header
    units: tuple[str, ...] | None
    rows: list[bytes]
    columns: TableColumns | None = None

    def continues(self, other: CsvTable | None) -> bool:
        """Return whether another part is of the same table, with the same units."""
        return other is not None and other.header is self.header and other.units is self.units


@dataclass(slots=True)
class Scan:
    """What is not in the tables: lines around them, and rows that were left out.

    ``ncu_lines`` are the ``==...==`` lines, ``other_lines`` the first of all others. ``broken``
    counts rows that are not complete, with the one in which the input ends if that is ``cut``.
    """

    ncu_lines: list[str] = field(default_factory=list)
    other_lines: list[str] = field(default_factory=list)
    header_seen: bool = False
    broken: int = 0
    cut: bool = False
    last_cell_lost: bool = False

    def warnings(self, when_cut: str = "") -> list[str]:
        """Return sentences on rows that were left out; ``when_cut`` ends the one about a cut."""
        sentences = []
        whole = self.broken - self.cut
        if whole == 1:
            sentences.append("One row was incomplete and was ignored.")
        elif whole > 1:
            sentences.append(f"{whole} rows were incomplete and were ignored.")
        if self.cut:
            sentences.append(
                f"The input ends in the middle of a row, which was left out{when_cut}."
            )
        if self.last_cell_lost:
            sentences.append(
                "The last line has no newline, so its last value may be cut off: that value was "
                "left out."
            )
        return sentences


@dataclass(slots=True)
class _Block:
    text: bytes
    table: CsvTable | None = None
    columns: Callable[[], TableColumns | None] | None = None


class _Lines:
    """Lines of a stream of blocks, with lookahead.

    Every block but the last ends at the end of a line.
    """

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        self._ahead: deque[_Block] = deque()
        self._lines: list[bytes] = []
        self._start = 0
        self._open_end = False

    def next_block(self, begin: Callable[[_Block], object] | None = None) -> _Block | None:
        """Return the block behind all lines so far; ``None`` at the end.

        ``begin`` gets the blocks after it too, as many as are read ahead.
        """
        while len(self._ahead) <= (_AHEAD if begin is not None else 0):
            text = next(self._blocks, None)
            if text is None:
                break
            self._ahead.append(_Block(text))
            if begin is not None:
                begin(self._ahead[-1])
        return self._ahead.popleft() if self._ahead else None

    def add(self, block: bytes) -> None:
        """Split a block into lines."""
        del self._lines[: self._start]
        self._start = 0
        self._open_end = not block.endswith(b"\n")
        self._lines += block.removesuffix(b"\n").split(b"\n")

    def get(self, ahead: int = 0) -> bytes | None:
        """Return a line, counted from the one that is next; ``None`` behind the last."""
        while self._start + ahead >= len(self._lines):
            block = self.next_block()
            if block is None:
                return None
            self.add(block.text)
        return self._lines[self._start + ahead]

    @property
    def empty(self) -> bool:
        """Whether every line that was added is consumed."""
        return self._start >= len(self._lines)

    def drop(self, count: int) -> None:
        """Skip so many lines."""
        self._start += count

    def is_open_end(self, ahead: int) -> bool:
        """Return whether the input ends in this line, so that it may be cut."""
        return self._open_end and self._start + ahead == len(self._lines) - 1


class Scanner:
    """Splits UTF-8 text with ``\\n`` line ends into tables and the rest.

    ``blocks`` are pieces of the text that end at the end of a line. ``parse`` gets those in which a
    table goes on, the next while the last is still being parsed. ``scan`` is complete once
    :meth:`tables` has come to its end.
    """

    def __init__(self, blocks: Iterable[bytes], parse: ParseBlock | None = None) -> None:
        self.scan = Scan()
        self._lines = _Lines(blocks)
        self._parse = parse
        self._table: CsvTable | None = None
        self._size = 0
        self._strays = 0
        self._id = 0

    def tables(self) -> Iterator[CsvTable]:
        """Yield parts of tables in the order of the stream."""
        while True:
            if self._lines.empty:
                block = self._lines.next_block(self._start_parsing)
                if block is None:
                    break
                parsed = self._parse_block(block)
                if parsed is not None:
                    yield from self._flush_rows()
                    yield parsed
                    continue
                if self._is_noise(block.text):
                    continue
                self._lines.add(block.text)
            table = self._table
            self._lines.drop(self._take_line())
            if table is not self._table:
                if table is not None and table.rows:
                    yield table
            elif self._size >= _GATHERED:
                yield from self._flush_rows()
        yield from self._flush_rows()

    def _flush_rows(self) -> Iterator[CsvTable]:
        table = self._table
        if table is not None and table.rows:
            self._set_table(replace(table, rows=[]))
            yield table

    def _set_table(self, table: CsvTable) -> None:
        self._table, self._size = table, 0

    def _start_parsing(self, block: _Block) -> None:
        if self._parse is not None and self._table is not None:
            block.table = self._table
            block.columns = self._parse(self._table, block.text)

    def _parse_block(self, block: _Block) -> CsvTable | None:
        table = self._table
        if table is None:
            return None
        if not table.continues(block.table):
            # Begun before the table was, or not at all.
            self._start_parsing(block)
        columns = block.columns() if block.columns is not None else None
        return None if columns is None else replace(table, rows=[], columns=columns)

    def _is_noise(self, block: bytes) -> bool:
        enough = len(self.scan.other_lines) >= _MOST_OTHER_LINES and self._table is None
        return enough and b"Kernel Name" not in block and b"==" not in block

    def _take_line(self) -> int:
        line = self._lines.get()
        self._strays += 1
        if self._strays > _MOST_STRAY_LINES:
            raise NoCaptureError(f"more than {_MOST_STRAY_LINES:,} lines are not rows of a table")
        if not line:
            return 1
        header = self._parse_header(line)
        if header is not None:
            self._open_table(header)
        elif self._table is None:
            self._add_other_line(line)
        elif self._is_regular_row(line) and not self._lines.is_open_end(0):
            self._add_row(line)
        else:
            return self._take_odd_line(line)
        return 1

    def _take_odd_line(self, line: bytes) -> int:
        after, row = self._collect_row()
        if row is not None:
            self._add_row(row)
            return after
        if self._begins_row(line) or (self._lines.is_open_end(0) and line.startswith(b'"')):
            self.scan.broken += 1
            self.scan.cut |= self._lines.get(after) is None
        else:
            self._add_other_line(line)
        return 1

    def _collect_row(self) -> tuple[int, bytes | None]:
        row = b""
        for index in range(_MOST_LINES_A_ROW):
            line = self._lines.get(index)
            if line is None:
                return index, None
            if index:
                if self._is_regular_row(line) or line.startswith(b"==PROF=="):
                    return index, None
                row += b"\n"
            row += line
            if len(row) > LONGEST_ROW:
                return index, None
            if row.count(b'"') % 2 == 0:
                return index + 1, self._check_row(row, last=self._lines.is_open_end(index))
        return _MOST_LINES_A_ROW, None

    def _check_row(self, row: bytes, *, last: bool) -> bytes | None:
        assert self._table is not None
        delimiter = self._table.header.delimiter
        cells = None if b"\0" in row else split_cells(row, delimiter)
        if cells is None or not self._fewest <= len(cells) <= self._most or self._id >= len(cells):
            return None
        # A row of quoted cells may stop after a delimiter, short of its last cell.
        lacks_last = row.startswith(b'"') and not row.endswith(self._ends)
        if last and (len(cells) not in {self._fewest, self._most} or lacks_last):
            return None
        identity = cells[self._id].strip()
        if identity and not identity.replace(",", "").isdigit():
            return None
        if last and not row.endswith(b'"'):
            self.scan.last_cell_lost = bool(cells[-1])
            row = row[: row.rfind(delimiter.encode()) + 1]
        return row

    def _is_regular_row(self, line: bytes) -> bool:
        if not line.startswith(b'"') or not line.endswith(self._ends) or b"\0" in line:
            return False
        if len(line) > LONGEST_ROW:
            return False
        cells = line.count(self._joint) + 1
        return self._fewest <= cells <= self._most and line.count(b'"') == 2 * cells

    def _begins_row(self, line: bytes) -> bool:
        if self._id:
            return line.startswith(b'"') and self._joint in line
        return self._numbered.match(line) is not None

    def _parse_header(self, line: bytes) -> Header | None:
        if b"Kernel Name" not in line or len(line) > LONGEST_ROW:
            return None
        # Output of the program may be on the same line, and contain the word as well.
        for start in dict.fromkeys((0, line.find(b'"ID"'), line.rfind(b'"ID"'))):
            text = line[start:].removeprefix(b"\xef\xbb\xbf")
            for delimiter in _DELIMITERS:
                cells = split_cells(text, delimiter) if start >= 0 else None
                names = tuple(cell.strip() for cell in cells or ())
                if "ID" in names and "Kernel Name" in names:
                    if len(names) > MOST_COLUMNS:
                        raise NoCaptureError(f"a table has more than {MOST_COLUMNS:,} columns")
                    return Header(names, delimiter, text.startswith(b'"'))
        return None

    def _open_table(self, header: Header) -> None:
        self._set_table(CsvTable(header, None, []))
        self._id = header.names.index("ID")
        delimiter = header.delimiter.encode()
        self._joint = b'"' + delimiter + b'"'
        self._numbered = re.compile(rb'("?)\d+\1' + re.escape(delimiter))
        self._most = len(header.names)
        self._fewest = self._most
        self._ends: tuple[bytes, ...] = (b'"',)
        if header.is_details:
            # ncu ends the row of a metric after its value, with one delimiter more.
            self._fewest = header.names.index("Metric Value") + 1
            self._ends = (b'"', b'"' + delimiter)
        self.scan.header_seen = True

    def _add_row(self, row: bytes) -> None:
        assert self._table is not None
        if self._has_no_id(row):
            self._set_units(self._table, row)
            return
        self._table.rows.append(row)
        self._strays -= 1
        self._size += len(row) + _ROW

    def _has_no_id(self, row: bytes) -> bool:
        assert self._table is not None
        if self._id == 0:
            return row.startswith((b'"",', b'"";', b'""\t', b'""|', b",", b";", b"\t", b"|"))
        cells = split_cells(row, self._table.header.delimiter)
        return cells is not None and not cells[self._id].strip()

    def _set_units(self, table: CsvTable, row: bytes) -> None:
        header = table.header
        units = tuple(cell.strip() for cell in split_cells(row, header.delimiter) or ())
        if len(units) != len(header.names) or header.is_details:
            self.scan.broken += 1
        elif table.units is None:
            table.units = units
        elif units != table.units:
            self._set_table(CsvTable(header, units, []))

    def _add_other_line(self, line: bytes) -> None:
        text = line[:_LONGEST_OTHER_LINE].decode("utf-8", "replace").strip()
        if _PROFILER.match(text):
            if len(self.scan.ncu_lines) < _MOST_NCU_LINES:
                self.scan.ncu_lines.append(text)
        elif text and len(self.scan.other_lines) < _MOST_OTHER_LINES:
            self.scan.other_lines.append(text)
