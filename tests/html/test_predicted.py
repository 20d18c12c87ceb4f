"""The page of a prediction: each access leads to its line, where stands what a request takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.html.support import (
    BAR_LENGTHS,
    beside_lines,
    line_is_shown,
    screenshot,
    undrawn_charts,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.html.conftest import OpenPage

LOOP, STORE = 55, 57
IS_SHOWN = line_is_shown(f"kernel-1-line-{LOOP}")


def test_an_access_leads_to_its_line(predicted: Path, open_page: OpenPage, dark: bool) -> None:
    page = open_page(predicted, dark=dark)
    assert beside_lines(page, "tr.hot") == {f"{LOOP}": "32 sectors (4), 1 sector"}
    requests = {f"{LOOP}": "32 sectors (4), 1 sector", f"{STORE}": "4 sectors"}
    assert beside_lines(page, "tr[id]") == requests
    assert page.evaluate(IS_SHOWN)
    page.evaluate("document.querySelector('.code:has(table.source)').scrollTop = 0")
    assert not page.evaluate(IS_SHOWN)
    page.locator(f"a[href='#kernel-1-line-{LOOP}']").first.click()
    page.wait_for_function(IS_SHOWN)
    screenshot(page, f"predicted-{'dark' if dark else 'light'}")


def test_the_bar_is_as_long_as_what_is_needless(predicted: Path, look_at: OpenPage) -> None:
    page = look_at(predicted)
    assert page.evaluate(BAR_LENGTHS) == ["87.5%"]
    assert undrawn_charts(page) == []


def test_it_is_marked_on_paper(predicted: Path, open_page: OpenPage) -> None:
    page = open_page(predicted, width=390)
    page.emulate_media(media="print")
    assert f"{LOOP}" in beside_lines(page, "tr.hot")
