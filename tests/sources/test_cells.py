"""Numbers and units as ncu and spreadsheets write them; each unit leads to one canonical one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelprof.sources.ncu.cells import decimal_mark, depends_on_unit, parse_number, scale_of
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
    column = NumberColumn.from_texts(TextColumn.from_cells(cells))
    assert len(column.values) == len(cells)
    assert not np.isinf(column.values).any()
    assert 0 <= column.texts <= np.isnan(column.values).sum()


@given(st.integers(min_value=0, max_value=2**53))
def test_separators_do_not_matter(number: int) -> None:
    assert parse_number(f"{number:,}") == parse_number(str(number)) == number


@pytest.mark.parametrize(
    ("unit", "canonical", "factor"),
    [
        ("ns", "ns", 1),
        ("us", "ns", 1e3),
        ("ms", "ns", 1e6),
        ("s", "ns", 1e9),
        ("nsecond", "ns", 1),
        ("usecond", "ns", 1e3),
        ("msecond", "ns", 1e6),
        ("second", "ns", 1e9),
        ("byte", "byte", 1),
        ("Kbyte", "byte", 1e3),
        ("Mbyte", "byte", 1e6),
        ("Gbyte", "byte", 1e9),
        ("Tbyte", "byte", 1e12),
        ("Kbyte/block", "byte/block", 1e3),
        ("byte/block", "byte/block", 1),
        ("hz", "hz", 1),
        ("Khz", "hz", 1e3),
        ("Mhz", "hz", 1e6),
        ("Ghz", "hz", 1e9),
        ("cycle/nsecond", "hz", 1e9),
        ("cycle/usecond", "hz", 1e6),
        ("Gbyte/s", "byte/s", 1e9),
        ("Gbyte/second", "byte/s", 1e9),
        ("Tbyte/s", "byte/s", 1e12),
        ("byte/ns", "byte/s", 1e9),
        ("sector/us", "sector/s", 1e6),
        ("sector/ns", "sector/s", 1e9),
        ("Kbyte/cycle", "byte/cycle", 1e3),
        ("%", "%", 1),
        ("%/register", "%/register", 1),
        ("inst/cycle", "inst/cycle", 1),
        ("register/thread", "register/thread", 1),
        ("sectors", "sector", 1),
        ("branches", "branch", 1),
        ("SM", "SM", 1),
        ("", "", 1),
        (" byte ", "byte", 1),
        ("furlong/fortnight", "furlong/fortnight", 1),
    ],
)
def test_canonical_unit(unit: str, canonical: str, factor: float) -> None:
    scale = scale_of(unit)
    assert scale.unit == canonical
    assert scale.apply(np.array([3.0]))[0] == pytest.approx(3.0 * factor, rel=1e-15)


def test_a_prefix_in_the_denominator_follows_ncu() -> None:
    """ncu writes 24,400 %/byte as 24.4 %/Kbyte; both spellings must give one number."""
    assert scale_of("%/Kbyte").apply(np.array([24.4]))[0] == pytest.approx(24400)
    assert scale_of("%/Kbyte").unit == scale_of("%/byte").unit


def test_scaling_keeps_whole_numbers_whole_and_missing_missing() -> None:
    values = scale_of("ms").apply(np.array([17.649888, np.nan, 0.0, 1e305]))
    assert values[0] == 17_649_888
    assert np.isnan(values[1])
    assert values[2] == 0
    assert np.isnan(values[3])


@pytest.mark.parametrize(
    ("metric", "depends"),
    [
        ("gpu__time_duration.sum", True),
        ("dram__bytes.sum.per_second", True),
        ("launch__shared_mem_per_block_static", True),
        ("dram__cycles_elapsed.avg.per_second", True),
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed", False),
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", False),
        ("launch__registers_per_thread", False),
    ],
)
def test_which_metrics_say_nothing_without_their_unit(metric: str, depends: bool) -> None:
    assert depends_on_unit(metric) is depends
