"""The source page: a table for each kernel and file, with the instructions below each line.

``ncu --import REPORT --page source --csv --print-source cuda,sass`` prints it. A kernel that was
compiled without ``-lineinfo`` has no table, only a warning.
"""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import SAMPLES
from kernelprof.model.capture import SourceLine, summed
from kernelprof.sources.numbers import parse_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FILE: Final = "File Path"
_FUNCTION: Final = "Function Name"
_LINE: Final = "Line No"
_COLUMNS: Final = (SAMPLES, "Warp Stall Sampling (All Samples)", "# Samples")
"""Where the samples are: the last two in a report of ``--set full`` or of source counters."""


def read_source_page(page: Iterable[str]) -> tuple[SourceLine, ...]:
    """The source lines of a page with their samples, from its lines of text; a pure function.

    Empty where no kernel has line information, or where no samples were collected.
    """
    return summed(_rows(page))


def _rows(page: Iterable[str]) -> Iterator[SourceLine]:
    file = function = ""
    place: int | None = None
    for text in page:
        # Instructions, nine rows in ten, have no line number; what ncu says itself has no quote.
        if text.startswith('"",') or not text.startswith('"'):
            continue
        cells = _cells(text)
        if cells[0] == _FILE:
            file, place = cells[-1], None
        elif cells[0] == _FUNCTION:
            function, place = cells[-1], None
        elif cells[0] == _LINE:
            place = _place(cells)
        elif place is not None:
            line, samples = _whole(cells[0]), _whole(cells[place]) if -place <= len(cells) else None
            if line is not None and samples is not None:
                yield SourceLine(file, function, line, samples)


def _cells(text: str) -> list[str]:
    """The cells of one row; always read by itself, so that no quote can swallow the next ones."""
    try:
        return next(csv.reader([text.rstrip("\r\n")]), [""]) or [""]
    except csv.Error:
        return [""]


def _place(header: list[str]) -> int | None:
    """Where the samples stand, counted from the end: source code is before, with any quotes."""
    for name in _COLUMNS:
        if name in header:
            return header.index(name) - len(header)
    return None


def _whole(cell: str) -> int | None:
    value = parse_number(cell)
    return None if value is None or math.isnan(value) or value < 0 else int(value)
