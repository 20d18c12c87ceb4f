"""Numbers as Nsight Compute writes them, and what it writes where there is none.

Missing is NaN, never zero: ``(!) n/a``, ``n/a``, ``no data``, ``nan``, an infinity (a ratio whose
denominator was zero) and the empty cell all say that there is no value.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]

MISSING_WORDS: Final = frozenset({
    "", "(!) n/a", "(!) nan", "(!)", "n/a", "N/A", "na", "NA", "no data", "(!) no data", "nan",
    "NaN", "-nan", "-NaN", "nan(ind)", "-nan(ind)", "inf", "-inf", "Inf", "-Inf", "null", "NULL",
    "-", "#N/A",
})  # fmt: skip
"""Cells that say that there is no number."""

NO_WORDS: Final = frozenset({"", "(!) n/a", "(!)", "n/a", "N/A", "no data", "(!) no data"})
"""Cells that say that there is no text either."""

_PLAIN = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_GROUPED = r"[+-]?\d{1,3}(?:[,'’\u00a0\u202f ]\d{3})+(?:\.\d*)?(?:[eE][+-]?\d+)?"
_GROUPED_COMMA = r"[+-]?\d{1,3}(?:[.'’\u00a0\u202f ]\d{3})+(?:,\d*)?(?:[eE][+-]?\d+)?"
_PLAIN_COMMA = r"[+-]?\d+(?:,\d*)?(?:[eE][+-]?\d+)?"
_INSTANCES = r"(?:\s*[({\[].*[)}\]])?"
"""What follows the aggregate of a metric with instances: ``12 (1; 2; 9)``, ``12 {0: 1, 1: 2}``."""

_POINT: Final = re.compile(rf"\s*({_GROUPED}|{_PLAIN})\s*%?{_INSTANCES}\s*", re.DOTALL)
_COMMA: Final = re.compile(rf"\s*({_GROUPED_COMMA}|{_PLAIN_COMMA})\s*%?{_INSTANCES}\s*", re.DOTALL)
_SEPARATORS: Final = re.compile(r"[,'’\u00a0\u202f ]")
_SEPARATORS_COMMA: Final = re.compile(r"[.'’\u00a0\u202f ]")

_COMMA_CELL: Final = re.compile(rb"[\";\t]\d{1,12},(?:\d{1,2}|\d{4,})[\";\t\r\n]")
_POINT_CELL: Final = re.compile(rb"[\",;\t]\d{1,12}\.(?:\d{1,2}|\d{4,})[\",;\t\r\n]")


@lru_cache(maxsize=4096)
def parse_number(text: str, *, decimal: str = ".") -> float | None:
    """The number that a cell leads with; NaN where it says "no value", None where it is text.

    >>> parse_number("4,563,402,752"), parse_number("12 (1; 2; 9)"), parse_number("PolicySpread")
    (4563402752.0, 12.0, None)
    """
    word = text.strip()
    if word in MISSING_WORDS or word.startswith("(!)"):
        return float("nan")
    match = (_COMMA if decimal == "," else _POINT).fullmatch(word)
    if match is None:
        return float("nan") if word[:1] in "({[" and word[-1:] in ")}]" else None
    digits = match[1]
    if decimal == ",":
        digits = _SEPARATORS_COMMA.sub("", digits).replace(",", ".")
    else:
        digits = _SEPARATORS.sub("", digits)
    value = float(digits)
    return value if np.isfinite(value) else float("nan")


def parse_numbers(cells: Iterable[str], *, decimal: str = ".") -> tuple[FloatArray, int]:
    """One float64 a cell and how many cells hold text that is no number (NaN there, too)."""
    memo: dict[str, float | None] = {}
    values: list[float] = []
    texts = 0
    for cell in cells:
        if cell not in memo:
            memo[cell] = parse_number(cell, decimal=decimal)
        value = memo[cell]
        texts += value is None
        values.append(float("nan") if value is None else value)
    return np.array(values, dtype=np.float64), texts


def decimal_mark(sample: bytes) -> str:
    """``","`` if the cells in ``sample`` use a decimal comma (``97,05``), else ``"."``.

    ``1,024`` fits both, so only cells with other than three digits after the mark are evidence.
    """
    commas = len(_COMMA_CELL.findall(sample))
    return "," if commas and not _POINT_CELL.search(sample) else "."
