"""Numbers as ncu and spreadsheets write them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelprof.sources.ncu.cells import decimal_mark, parse_number
from kernelprof.sources.ncu.columns import NumberColumn, TextColumn


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("4,563,402,752", 4_563_402_752),
        ("4563402752", 4_563_402_752),
        ("1.2e+09", 1.2e9),
        ("0.97", 0.97),
        ("-3.5", -3.5),
        (" 12 ", 12),
        ("12 (1; 2; 9)", 12),
        ("1,024.50 (512; 512.5)", 1024.5),
        ("12 {0: 1, 1: 2}", 12),
        ("97.05 %", 97.05),
        ("1 231 028 224", 1_231_028_224),
        ("1’231’028", 1_231_028),
        ("1\u202f231\u202f028", 1_231_028),
    ],
)
def test_numbers(cell: str, value: float) -> None:
    assert parse_number(cell) == value


@pytest.mark.parametrize(
    "cell",
    ["", " ", "(!) n/a", "n/a", "no data", "nan", "-nan", "inf", "(!) nan", "(1; 2; 3)", "{}"],
)
def test_missing_is_nan_never_zero(cell: str) -> None:
    value = parse_number(cell)
    assert value is not None
    assert math.isnan(value)


@pytest.mark.parametrize(
    "cell", ["PolicySpread", "No-CC", "all", "1, 2, 3 and 4", "1,2345", "0x1f"]
)
def test_text_is_no_number(cell: str) -> None:
    assert parse_number(cell) is None


@pytest.mark.parametrize(
    ("cell", "value"), [("97,05", 97.05), ("1.231.028,50", 1_231_028.5), ("12", 12.0)]
)
def test_decimal_comma(cell: str, value: float) -> None:
    assert parse_number(cell, decimal=",") == value


@pytest.mark.parametrize(
    ("sample", "mark"),
    [
        (b'"97,05","1,024"', ","),
        (b";97,05;1024;\n", ","),
        (b'"97.05","1,024"', "."),
        (b'"97.05","1,02"', "."),
        (b'"1,024","2,048"', "."),
        (b"", "."),
    ],
)
def test_the_decimal_mark_needs_evidence(sample: bytes, mark: str) -> None:
    assert decimal_mark(sample) == mark


@given(st.lists(st.text(max_size=12), max_size=20))
def test_any_text_is_a_number_or_missing(cells: list[str]) -> None:
    column = NumberColumn.of(TextColumn.of(cells))
    assert len(column.values) == len(cells)
    assert not np.isinf(column.values).any()
    assert 0 <= column.texts <= np.isnan(column.values).sum()


@given(st.integers(min_value=0, max_value=2**53))
def test_separators_do_not_matter(number: int) -> None:
    assert parse_number(f"{number:,}") == parse_number(str(number)) == number
