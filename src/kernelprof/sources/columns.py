"""Columns of cells: numbers, and words of which each is kept once."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.sources.numbers import parse_number
from kernelprof.sources.stream import split_cells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from kernelprof.sources.stream import Header

    FloatArray = npt.NDArray[np.float64]
    IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Words:
    """A column of texts: row ``r`` has ``distinct[codes[r]]``."""

    codes: IntArray
    distinct: Sequence[str]

    @staticmethod
    def of(cells: Sequence[str]) -> Words:
        known: dict[str, int] = {}
        codes = [known.setdefault(cell, len(known)) for cell in cells]
        return Words(np.array(codes, dtype=np.intp), list(known))

    def __len__(self) -> int:
        return len(self.codes)

    def cells(self) -> list[str]:
        """The texts, row by row."""
        return [self.distinct[code] for code in self.codes.tolist()]


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of numbers, NaN where a cell has none.

    ``texts`` counts the cells with words that mean no missing number. ``words`` are the cells as
    they were, where that matters: nothing in the column is a number, or something is a text.
    """

    values: FloatArray
    texts: int = 0
    words: Words | None = None


@dataclass(slots=True)
class Columns:
    """Some columns of ``count`` rows of a table, by their position in it.

    ``size`` is in bytes, as they were written.
    """

    count: int
    ids: Sequence[str] = ()
    words: dict[int, Words] = field(default_factory=dict)
    numbers: dict[int, Numbers] = field(default_factory=dict)
    size: int = 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which columns of a table to read: the positions of its IDs, of texts and of numbers."""

    ids: int
    words: tuple[int, ...]
    numbers: tuple[int, ...]


def numbers_of(words: Words, decimal: str = ".") -> Numbers:
    """What a column of texts says in numbers."""
    read = [parse_number(word, decimal=decimal) for word in words.distinct]
    values = np.array([np.nan if each is None else each for each in read])[words.codes]
    is_text = np.array([each is None for each in read])
    texts = int(np.count_nonzero(is_text[words.codes])) if is_text.any() else 0
    keep = texts > 0 or bool(np.isnan(values).all())
    return Numbers(values, texts, words if keep else None)


def columns_of_rows(
    header: Header, rows: Sequence[bytes], wanted: Wanted, decimal: str = "."
) -> Columns:
    """Columns of single rows, each of which may be anything that is a row."""
    table = _cells(header, rows)
    by_column: Mapping[int, list[str]] = {
        at: [row[at] if at < len(row) else "" for row in table]
        for at in (wanted.ids, *wanted.words, *wanted.numbers)
    }
    return Columns(
        len(table),
        by_column[wanted.ids],
        {at: Words.of(by_column[at]) for at in wanted.words},
        {at: numbers_of(Words.of(by_column[at]), decimal) for at in wanted.numbers},
        sum(map(len, rows)),
    )


def _cells(header: Header, rows: Sequence[bytes]) -> list[list[str]]:
    """The cells of all rows; a row that the joint text would split otherwise is taken by itself."""
    text = b"\n".join(rows).decode("utf-8", "replace")
    try:
        table = list(csv.reader(io.StringIO(text, newline=""), delimiter=header.delimiter))
    except csv.Error:
        table = []
    if len(table) == len(rows):
        return table
    return [split_cells(row, header.delimiter) or [] for row in rows]
