"""Finds the tables of ``ncu --csv`` in a stream of bytes.

Program output and ``==PROF==`` lines stand before, between and after the rows; one stream may hold
several exports, each with its own header and units; cells may hold newlines (NVTX), and
spreadsheets re-save with other separators and without quotes. What is a row is decided line by
line: it has as many cells as the header and its ID is a number. All else is passed on as notes.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from typing import Final

_DELIMITERS: Final = (",", ";", "\t", "|")
_MOST_LINES_A_ROW: Final = 400
"""NVTX ranges put one line a range into a cell; deeper nesting than this is not a row."""
_KEPT_NOISE: Final = 200
_PROFILER: Final = re.compile(r"==[A-Z]+==")
_SAMPLE: Final = 256


@dataclass(frozen=True, slots=True)
class Header:
    """The header of one table: its column names and how its cells are separated."""

    names: tuple[str, ...]
    delimiter: str

    @property
    def is_details(self) -> bool:
        """Whether rows are single metrics (details page) rather than launches (raw page)."""
        return "Metric Name" in self.names and "Metric Value" in self.names


@dataclass(slots=True)
class Table:
    """Rows under one header and one row of units, as the bytes that were there.

    ``units`` has one unit a column, ``None`` where the table has no such row.
    """

    header: Header
    units: tuple[str, ...] | None
    rows: list[bytes]


@dataclass(slots=True)
class Scan:
    """Everything that was found. ``profiler`` are the ``==...==`` lines, ``noise`` other lines."""

    tables: list[Table] = field(default_factory=list)
    profiler: list[str] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)
    header_seen: bool = False
    broken: int = 0
    cut: bool = False
    last_cell_lost: bool = False


def to_utf8(data: bytes) -> bytes:
    """The same text without byte-order mark, with ``\\n`` line ends, in UTF-8."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    elif _looks_utf16(data[:_SAMPLE]):
        data = data.decode("utf-16-le", "replace").encode("utf-8", "replace")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in data:
        data = data.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n")
        if b"\n" not in data:
            data = data.replace(b"\r", b"\n")
    return data


def _looks_utf16(start: bytes) -> bool:
    """Whether ASCII is written in two bytes a character, without a byte-order mark."""
    high = start[1::2]
    return len(high) >= 8 and high.count(0) * 10 >= 9 * len(high) and 0 not in start[::2]


def split_cells(row: bytes, delimiter: str) -> list[str] | None:
    """The cells of one row; None if it cannot be one."""
    text = row.decode("utf-8", "replace")
    try:
        parsed = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        return None
    return parsed[0] if len(parsed) == 1 else None


def scan(data: bytes) -> Scan:
    """Split UTF-8 text with ``\\n`` line ends into tables and the rest."""
    return _Scanner(data).run()


class _Scanner:
    def __init__(self, data: bytes) -> None:
        self._lines = data.split(b"\n")
        self._open_end = bool(data) and not data.endswith(b"\n")
        self._found = Scan()
        self._header: Header | None = None
        self._units: tuple[str, ...] | None = None
        self._rows: list[bytes] = []
        self._id = 0

    def run(self) -> Scan:
        at = 0
        while at < len(self._lines):
            at = self._step(at)
        self._close_table()
        return self._found

    def _step(self, at: int) -> int:
        """Consume what starts at line ``at``; returns the line after it."""
        line = self._lines[at]
        if not line:
            return at + 1
        header = self._as_header(line)
        if header is not None:
            self._open_table(header)
        elif self._header is None:
            self._note(line)
        elif self._is_whole(line) and not self._is_open_end(at):
            self._take(line)
        else:
            return self._step_carefully(at)
        return at + 1

    def _is_open_end(self, at: int) -> bool:
        """Whether the input ends in this line, so that it may be cut."""
        return self._open_end and at == len(self._lines) - 1

    def _step_carefully(self, at: int) -> int:
        after, row = self._collect(at)
        if row is not None:
            self._take(row)
            return after
        line = self._lines[at]
        if self._begins_row(line) or (self._is_open_end(at) and line.startswith(b'"')):
            self._found.broken += 1
            self._found.cut |= after >= len(self._lines)
        else:
            self._note(line)
        return at + 1

    def _collect(self, at: int) -> tuple[int, bytes | None]:
        """The row that starts at line ``at`` and may go on over the next lines."""
        assert self._header is not None
        row = b""
        end = min(len(self._lines), at + _MOST_LINES_A_ROW)
        for index in range(at, end):
            line = self._lines[index]
            if index > at:
                if self._is_whole(line) or line.startswith(b"==PROF=="):
                    return index, None
                row += b"\n"
            row += line
            if row.count(b'"') % 2 == 0:
                return index + 1, self._checked(row, last=self._is_open_end(index))
        return end, None

    def _checked(self, row: bytes, *, last: bool) -> bytes | None:
        header = self._header
        assert header is not None
        if b"\0" in row:
            return None
        cells = split_cells(row, header.delimiter)
        if cells is None or not self._fewest <= len(cells) <= self._most:
            return None
        if last and (len(cells) not in {self._fewest, self._most} or self._lacks_last_cell(row)):
            return None
        identity = cells[self._id].strip()
        if identity and not identity.replace(",", "").isdigit():
            return None
        if last and not row.endswith(b'"'):
            self._found.last_cell_lost = bool(cells[-1])
            row = row[: row.rfind(header.delimiter.encode()) + 1]
        return row

    def _lacks_last_cell(self, row: bytes) -> bool:
        """Whether a row of quoted cells stops after a delimiter, short of its last cell."""
        return row.startswith(b'"') and not row.endswith(self._ends)

    def _is_whole(self, line: bytes) -> bool:
        """Whether the line is a complete row as ncu writes them: all cells quoted."""
        if not line.startswith(b'"') or not line.endswith(self._ends) or b"\0" in line:
            return False
        cells = line.count(self._joint) + 1
        return self._fewest <= cells <= self._most and line.count(b'"') == 2 * cells

    def _begins_row(self, line: bytes) -> bool:
        """Whether a line that is no row begins like one: with an ID, or with quoted cells."""
        if self._id:
            return line.startswith(b'"') and self._joint in line
        return self._numbered.match(line) is not None

    def _as_header(self, line: bytes) -> Header | None:
        if b"Kernel Name" not in line:
            return None
        for start in (0, line.find(b'"ID"')):
            text = line[start:].removeprefix(b"\xef\xbb\xbf")
            for delimiter in _DELIMITERS:
                cells = split_cells(text, delimiter) if start >= 0 else None
                names = tuple(cell.strip() for cell in cells or ())
                if "ID" in names and "Kernel Name" in names:
                    return Header(names, delimiter)
        return None

    def _open_table(self, header: Header) -> None:
        self._close_table()
        self._header = header
        self._units = None
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
        self._found.header_seen = True

    def _close_table(self) -> None:
        if self._header is not None and self._rows:
            self._found.tables.append(Table(self._header, self._units, self._rows))
        self._rows = []

    def _take(self, row: bytes) -> None:
        if self._has_no_id(row):
            self._take_units(row)
            return
        self._rows.append(row)

    def _has_no_id(self, row: bytes) -> bool:
        assert self._header is not None
        if self._id == 0:
            return row.startswith((b'"",', b'"";', b'""\t', b'""|', b",", b";", b"\t", b"|"))
        cells = split_cells(row, self._header.delimiter)
        return cells is not None and not cells[self._id].strip()

    def _take_units(self, row: bytes) -> None:
        header = self._header
        assert header is not None
        units = tuple(cell.strip() for cell in split_cells(row, header.delimiter) or ())
        if len(units) != len(header.names) or header.is_details:
            self._found.broken += 1
            return
        if self._units is not None and units != self._units:
            self._close_table()
        self._units = units

    def _note(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").strip()
        if _PROFILER.match(text):
            self._found.profiler.append(text)
        elif text and len(self._found.noise) < _KEPT_NOISE:
            self._found.noise.append(text)
