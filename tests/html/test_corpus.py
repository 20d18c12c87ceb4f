"""The corpus' page: totals, promised against measured gains, and the pairs as a table to sort."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.html.support import charts, screenshot, undrawn_charts

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page
    from tests.html.conftest import OpenPage


def column(page: Page, number: int) -> list[str]:
    """A column of all four tables of pairs."""
    return page.locator(f"table.sortable tbody tr:visible td:nth-child({number})").all_inner_texts()


def test_each_right_gain_is_a_point(corpus: Path, look_at: OpenPage, dark: bool) -> None:
    page = look_at(corpus, dark=dark)
    assert undrawn_charts(page) == []
    assert charts(page) == {"gains"}
    points = page.locator("[data-chart] svg.symbol path")
    # banks, both, the hostile name, and stream, whose unit at its limit promises for half the work.
    assert points.count() == 4
    assert page.locator("[data-chart] svg line.band").count() == 2 * 3
    screenshot(page, f"corpus-{'dark' if dark else 'light'}")


def test_a_tooltip_tells_all_about_a_point(corpus: Path, open_page: OpenPage) -> None:
    page = open_page(corpus)
    assert undrawn_charts(page) == []
    told = page.locator("[data-chart] svg.symbol title").first.text_content() or ""
    for part in ("banks", "shared-bank-conflicts", "high", "6.0x", "2.0x", "3.0x"):
        assert part in told, part


def test_the_totals_stand_beside_the_others(corpus: Path, look_at: OpenPage) -> None:
    page = look_at(corpus)
    totals = page.locator("table:not(.sortable)").first
    cells = totals.locator("thead th").all_inner_texts()
    assert cells[4:] == ["Nsight Compute's rules 2025.3.1", "Fournex 1.0"]
    first = totals.locator("tbody tr").first.locator("td").all_inner_texts()
    assert first[1:] == [*["4 of 6 (67 %)"] * 3, "2 of 3 (67 %)", "0 of 1 (0 %)"]
    assert page.get_by_text("200 times: 920 of 1000 (92 %) named first").count() == 1


def test_a_table_is_sorted_and_filtered(corpus: Path, open_page: OpenPage) -> None:
    page = open_page(corpus)
    assert len(column(page, 1)) == 9
    pairs = page.locator(".filtered").first

    def shown(number: int) -> list[str]:
        return pairs.locator(f"tbody tr:visible td:nth-child({number})").all_inner_texts()

    assert len(shown(1)) == 6
    pairs.locator("th button:text-is('right')").click()
    assert shown(5)[:2] == ["no", "2nd"]
    pairs.locator("th button:text-is('right')").click()
    assert shown(5)[0] == "1st"
    pairs.locator("input.filter").fill("low-occupancy")
    assert shown(1) == ["sure"]
    assert pairs.locator(".shown").inner_text() == "1 of 6 shown"


def test_text_of_strangers_is_text(corpus: Path, look_at: OpenPage) -> None:
    page = look_at(corpus)
    assert undrawn_charts(page) == []
    assert page.locator("img").count() == 0
    assert any(name.startswith("<img src=x") for name in column(page, 1))
