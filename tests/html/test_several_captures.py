"""The page of several captures: one table of all kernels, whatever the files are called."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from tests.html.support import CAPTURES, FULL, ROOT, cells_of, has_horizontal_scroll, open_card

if TYPE_CHECKING:
    from pathlib import Path

    from tests.html.conftest import OpenPage, WritePage

LONG = f"{'a_long_name_' * 16}1234.csv"
WIDTHS = "row => [...row.cells].map((cell) => cell.getBoundingClientRect().width)"


@pytest.fixture(scope="module")
def several(write_page: WritePage, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    assert len(LONG) == 200
    shutil.copy(FULL, folder / LONG)
    return write_page("report", CAPTURES / "gemm_series.full.raw.csv", folder / LONG, "-o")


def test_all_kernels_are_in_one_table_by_their_time(several: Path, look_at: OpenPage) -> None:
    page = look_at(several)
    rows = cells_of(page.locator("#kernels tbody tr"))
    assert len(rows) == 26 + 4 == page.locator("main table.sortable tbody tr").count()
    assert [row[:4] + row[-2:] for row in rows[:4]] == [
        ["gemm_bad 32x32", "gemm_serie…l.raw.csv", "1", "35.31 ms", "5.2x", "19 %"],
        ["matmul_uncoalesced", "gemm_serie…l.raw.csv", "1", "18.71 ms", "2.8x", "8.2 %"],
        ["gemm_bad 16x16", "gemm_serie…l.raw.csv", "1", "17.65 ms", "3.1x", "8.1 %"],
        ["gemm_bad", "a_long_nam…_1234.csv", "1", "17.65 ms", "3.1x", "8.1 %"],
    ]
    assert (
        "Largest possible saving: gemm_bad 32x32, about 19 % of the total time."
        in page.locator("#kernels .headline").inner_text()
    )


def test_a_long_file_name_leaves_room_for_the_gains(several: Path, look_at: OpenPage) -> None:
    page = look_at(several, width=1000)
    assert not has_horizontal_scroll(page)
    table = page.locator("#kernels .scroll")
    assert table.evaluate("box => box.scrollWidth <= box.clientWidth")
    widths = page.locator("#kernels tbody tr").nth(3).evaluate(WIDTHS)
    assert widths[1] < 0.2 * sum(widths)


def test_kernels_are_filtered_by_the_whole_name_of_their_file(
    several: Path, open_page: OpenPage
) -> None:
    page = open_page(several)
    page.fill("#kernels input.filter", "name_a_long_name")
    assert page.locator("#kernels .shown").inner_text() == "4 of 30 shown"


def test_it_fits_on_a_phone(several: Path, open_page: OpenPage) -> None:
    page = open_page(several, width=390)
    assert not has_horizontal_scroll(page)
    assert open_card(page, 0) == "#capture-1-kernel-1"
    assert not has_horizontal_scroll(page)


def test_captures_of_one_name_are_told_apart_by_their_folders(
    write_page: WritePage, look_at: OpenPage
) -> None:
    runs = [CAPTURES / "h200_changes" / name / "1" for name in ("tile", "walk")]
    named = "#kernels tbody td:nth-child(2)"
    page = look_at(write_page("report", *(each.relative_to(ROOT) for each in runs), "-o"))
    assert sorted(page.locator(named).all_inner_texts()) == [
        "tests/capt…es/tile/1",
        "tests/capt…es/walk/1",
    ]
