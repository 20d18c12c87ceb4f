"""Blocks that are parsed as a whole give what reading row by row gives."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from kernelprof.sources import raw_page
from kernelprof.sources import source as sources
from kernelprof.sources.ncu.blocks import BlockParser
from kernelprof.sources.ncu.cells import Header
from kernelprof.sources.ncu.columns import Selection
from kernelprof.sources.ncu.tables import Scanner
from kernelprof.sources.raw_page import RawPage
from kernelprof.sources.source import Input

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture

CAPTURES = Path(__file__).parents[1] / "captures"
EXPORTS = (
    "gemm_series.eight-metrics.raw.csv",
    "four_gemms.full.raw.csv",
    "h200_triage/triage.csv.gz",
    "validation/basic.raw.csv.gz",
    "validation/frameworks_nvtx.raw.csv.gz",
)
OVER_LINES = "validation/frameworks_nvtx.raw.csv.gz"
"""Its rows go over several lines: the ranges of NVTX do."""

HEADER = Header(("ID", "Kernel Name", "a", "b"), ",")
WANTED = Selection(0, (1,), (2, 3))
TOP = '"ID","Kernel Name","a","b"\n"","","",""\n'


class Counting(RawPage):
    """Counts the blocks that were taken as a whole."""

    blocks = 0

    def add(self, table):
        self.blocks += table.columns is not None
        super().add(table)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch) -> None:
    """So that a real capture has several."""
    monkeypatch.setattr(raw_page, "WORTH_A_BLOCK", 0)
    monkeypatch.setattr(sources, "FIRST", 1 << 15)
    monkeypatch.setattr(sources, "LARGEST", 1 << 17)


def read(data: bytes, *, whole: bool) -> tuple[Capture, int]:
    """The capture in some bytes, in blocks or row by row."""
    page = Counting()
    scanner = Scanner(Input(io.BytesIO(data).read, "x").blocks(), page.parse if whole else None)
    for table in scanner.tables():
        page.add(table)
    return page.capture("x", scanner.scan), page.blocks


def assert_same(one: Capture, other: Capture) -> None:
    assert one.launches == other.launches
    assert one.columns.keys() == other.columns.keys()
    for name, column in one.columns.items():
        theirs = other.columns[name]
        np.testing.assert_array_equal(column.values, theirs.values, name)
        assert (column.unit, column.original_unit) == (theirs.unit, theirs.original_unit)
    assert one.text == other.text
    assert one.warnings == other.warnings
    assert one.unavailable == other.unavailable


def parsed(text: str):
    return BlockParser(HEADER, WANTED).parse(text.encode())


@pytest.mark.parametrize("name", EXPORTS)
def test_both_ways_read_a_capture_alike(name: str) -> None:
    """Each export so often that blocks begin and end somewhere within it."""
    data = (CAPTURES / name).read_bytes()
    text = b"".join(Input(io.BytesIO(data).read, "x").blocks())
    start = text.index(b'"ID"')
    head, units, *rows = text[start:].splitlines(keepends=True)
    repeats = 1 + (1 << 19) // (len(text) - start)
    long = b"".join([head, units, *(rows * repeats)])
    whole, blocks = read(long, whole=True)
    assert_same(whole, read(long, whole=False)[0])
    assert (blocks == 0) == (name == OVER_LINES)


def test_a_block_is_parsed() -> None:
    found = parsed('"0","k(int, int)","1,234.5","n/a"\n"1","k(int, int)","7","(!) n/a"\n')
    assert found is not None
    assert found.ids == ["0", "1"]
    assert found.texts[1].cells() == ["k(int, int)"] * 2
    assert found.numbers[2].values.tolist() == [1234.5, 7.0]
    assert np.isnan(found.numbers[3].values).all()
    assert found.numbers[3].cells is not None
    assert found.numbers[3].cells.cells() == ["n/a", "(!) n/a"]


@pytest.mark.parametrize(
    "text",
    [
        '"0","k","1","2"\nnoise\n',
        '"0","k","1","2"\n==PROF== Profiling "k"\n',
        '"0","k","1","2"\nout"1","k","1","2"\n',
        '"0","k","1","2"out\n',
        '"0","k","1"\n"1","k","1","2","3"\n',
        '"0","k","1",2\n',
        '"0","k ""quoted""","1","2"\n',
        '"0","two\nlines","1","2"\n',
        '"","","%","%"\n',
        '"ID","Kernel Name","a","b"\n',
        '"0","k","1","2\0"\n',
        '"0","k","1","2"',
        "\n",
        "",
    ],
)
def test_anything_else_is_left_to_the_careful_reader(text: str) -> None:
    assert parsed(text) is None


def test_a_column_may_change_from_block_to_block() -> None:
    """Numbers without separators, then with them, then words among them."""
    parser = BlockParser(HEADER, WANTED)
    found = []
    for cells in (["1", "2"], ["3", "1,000"], ["n/a", "4"], ["n/a", ""], ["5", "text"]):
        block = "".join(f'"{at}","k","{cell}","0"\n' for at, cell in enumerate(cells))
        columns = parser.parse(block.encode())
        assert columns is not None
        found.append(columns.numbers[2])
    values = [each.values.tolist() for each in found]
    assert values[:2] == [[1, 2], [3, 1000]]
    np.testing.assert_array_equal(values[2:], [[np.nan, 4], [np.nan, np.nan], [5, np.nan]])
    assert [each.texts for each in found] == [0, 0, 0, 0, 1]


def test_commas_that_group_no_thousands_make_a_text() -> None:
    found = parsed('"0","k","1,23","1"\n"1","k","1,234","1"\n')
    assert found is not None
    assert (found.numbers[2].texts, found.numbers[2].values[1]) == (1, 1234)


def test_what_stands_between_blocks_is_found() -> None:
    """Blocks before and after program output, a second header and a cut end."""
    rows = "".join(f'"{at}","k","{at:,}","{at}.5"\n' for at in range(20_000))
    text = f"{TOP}{rows}==WARNING== something\nnoise\n{TOP}{rows}{rows[:-9]}"
    whole, blocks = read(text.encode(), whole=True)
    careful, none = read(text.encode(), whole=False)
    assert_same(whole, careful)
    assert len(whole.launches) == 59_999
    assert whole.columns["b"].values[-1] == 19_998.5
    assert (blocks > 0, none) == (True, 0)


def test_blocks_of_one_table_may_be_parsed_by_several_threads() -> None:
    """Columns change their form all the time, so that each block teaches the others something."""
    forms = ("{}", "{:,}", "n/a", "{}.5", "text")

    def block(number: int) -> bytes:
        form = forms[number % len(forms)]
        rows = (f'"{at}","k","{form.format(at * 7)}","{at}"\n' for at in range(2_000))
        return "".join(rows).encode()

    parser = BlockParser(HEADER, WANTED)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(parser.parse, map(block, range(60))))
    for number, columns in enumerate(found):
        alone = BlockParser(HEADER, WANTED).parse(block(number))
        assert columns is not None
        assert alone is not None
        for at in (2, 3):
            numbers, expected = columns.numbers[at], alone.numbers[at]
            np.testing.assert_array_equal(numbers.values, expected.values)
            assert numbers.texts == expected.texts
