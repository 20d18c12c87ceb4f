"""What both pages share: the frame of strings and numbers, and what a page holds in the end."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from kernelprof.model.capture import Launch, MetricColumn, Source
from kernelprof.tables.numbers import decimal_mark
from kernelprof.tables.stream import Header, split_cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LAUNCH_PREFIXES: Final = ("launch__", "device__", "numa__", "c2clink__", "nvlink__")
_SAMPLE_BYTES: Final = 1 << 18
_FREQUENT_MISSING: Final = ["", "(!) n/a", "n/a", "no data", "nan"]
"""What pandas looks out for; a column with any other word for it takes the careful way."""
_UNAVAILABLE: Final = frozenset({"(!) n/a", "n/a", "N/A"})


def source_of(metric: str) -> Source:
    """Where the values of a metric come from, by its name."""
    if metric.startswith(_LAUNCH_PREFIXES):
        return Source.LAUNCH
    if metric.startswith("derived_"):
        return Source.DERIVED
    return Source.MEASURED


@dataclass(slots=True)
class Page:
    """What a page holds, before it becomes a capture."""

    launches: list[Launch]
    columns: dict[str, MetricColumn] = field(default_factory=dict)
    text: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    unavailable: set[str] = field(default_factory=set)

    def warn(self, sentence: str) -> None:
        """Tell the user something, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def note_unavailable(self, metric: str, cells: Iterable[str]) -> None:
        """Remember a metric that was asked for and that ncu gave for no launch."""
        if {cell.strip() for cell in cells} <= _UNAVAILABLE:
            self.unavailable.add(metric)


def read_frame(
    header: Header, rows: Sequence[bytes], *, text: frozenset[int] | None, decimal: str
) -> pd.DataFrame:
    """Rows as a frame with columns 0, 1, ...; ``text`` columns stay strings (None: all do)."""
    width = len(header.names)
    strings = range(width) if text is None else text
    options: dict[str, Any] = {
        "header": None,
        "names": list(range(width)),
        "index_col": False,
        "sep": header.delimiter,
        "dtype": dict.fromkeys(strings, str),
        "keep_default_na": False,
        "na_values": {at: _FREQUENT_MISSING for at in range(width) if at not in strings},
        "thousands": "," if decimal == "." else ".",
        "decimal": decimal,
        "low_memory": False,
        "skip_blank_lines": False,
        "encoding": "utf-8",
        "encoding_errors": "replace",
    }
    try:
        frame: pd.DataFrame = pd.read_csv(io.BytesIO(b"\n".join(rows)), **options)
    except (ValueError, OverflowError):
        cells = [split_cells(row, header.delimiter) or [] for row in rows]
        padded = [(row + [""] * width)[:width] for row in cells]
        frame = pd.DataFrame(padded, columns=list(range(width)), dtype=str)
    return frame


def table_decimal(header: Header, rows: Sequence[bytes]) -> str:
    """The decimal mark of a table, judged by its first rows."""
    if header.delimiter == "," and not rows[0].startswith(b'"'):
        return "."
    taken: list[bytes] = []
    size = 0
    for row in rows:
        taken.append(row)
        size += len(row)
        if size > _SAMPLE_BYTES:
            break
    return decimal_mark(b"\n".join([*taken, b""]))
