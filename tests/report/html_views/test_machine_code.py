"""Machine code beside the lines that it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelprof.report.document import Table, plain
from kernelprof.report.documents.machine_code import MOST_INSTRUCTIONS, MOST_LINES, section
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from pathlib import Path

TILE = "sgemm_shared_tile"


def table(captures: Path, name: str, kernel: str) -> list[list[str]]:
    found = section(read_capture(captures / "source_page" / name).code, kernel)
    assert found is not None
    (rows,) = (each.rows for each in found.blocks if isinstance(each, Table))
    for row in rows:
        assert row[2].bar is not None
        assert 100 * row[2].bar.fill == pytest.approx(float(plain(row[2].text).split()[0]), abs=0.5)
    return [[plain(cell.text) for cell in row] for row in rows]


def test_the_costliest_line_is_first_with_its_instructions(captures: Path) -> None:
    rows = table(captures, "shared_tile.source_counters.csv.gz", TILE)
    assert rows[0][:2] == ["03_shared_tile.cu:88 70 %", "sum += As[ty][k] * Bs[k][tx];"]
    assert [row[3].split()[0] for row in rows[:MOST_INSTRUCTIONS]] == ["LDS"] * MOST_INSTRUCTIONS
    assert rows[MOST_INSTRUCTIONS][0].startswith("03_shared_tile.cu:82 21 %")
    assert rows[MOST_INSTRUCTIONS][2:] == ["20 %", "STS [R5], R22", "long scoreboard"]
    assert len([row for row in rows if row[0]]) <= MOST_LINES


def test_states_that_were_not_told_apart_are_left_open(captures: Path) -> None:
    rows = table(captures, "shared_tile.samples.csv.gz", TILE)
    assert {row[4] for row in rows} == {""}


def test_without_samples_or_for_another_kernel_there_is_nothing(captures: Path) -> None:
    folder = captures / "source_page"
    assert section(read_capture(folder / "shared_tile.no_samples.csv.gz").code, TILE) is None
    assert section(read_capture(folder / "fixture.csv.gz").code, "another") is None
    assert section((), TILE) is None
