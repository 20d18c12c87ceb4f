"""Pages of the gallery on a phone: words are whole, and texts keep to their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.html.support import box_of, has_horizontal_scroll
from tests.support.few import part_of
from tests.support.pages import ROOT, commands

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import RunCli
    from tests.html.conftest import OpenPage

    Built = Callable[[str], Path]

ONCE = "tests/captures/h200_once"
MORE = {
    "gate-of-many": ["gate", f"{ONCE}/before-1.1.csv.gz", f"{ONCE}/after-1.1.csv.gz", "--html", ""]
}

SPILLED = """() => [...document.querySelectorAll("table.cards td, table.bars :is(th, td.number)")]
    .filter((cell) => cell.checkVisibility() && cell.scrollWidth > cell.clientWidth + 1)
    .map((cell) => cell.textContent.trim())"""

CUT = """() => [...document.querySelectorAll(".treemap a.cell:not(.small) .detail")]
    .filter((detail) => detail.checkVisibility() && detail.getBoundingClientRect().bottom
        > detail.closest(".cell").getBoundingClientRect().bottom - 4)
    .map((detail) => detail.closest(".cell").textContent)"""


BROKEN = r"""() => [...document.querySelectorAll(".status")].flatMap((status) => {
    const walker = document.createTreeWalker(status, NodeFilter.SHOW_TEXT);
    const broken = [];
    while (walker.nextNode()) {
        for (const word of walker.currentNode.textContent.matchAll(/[^\s-]+-?/g)) {
            const range = document.createRange();
            range.setStart(walker.currentNode, word.index);
            range.setEnd(walker.currentNode, word.index + word[0].length);
            const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
            if (tops.size > 1) broken.push(word[0]);
        }
    }
    return broken;
})"""


@pytest.fixture(scope="module")
def built(run_cli: RunCli, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build a page of ``make reports`` once, by its name."""
    folder = tmp_path_factory.mktemp("built")

    def build(name: str) -> Path:
        page = folder / f"{name}.html"
        if not page.exists():
            run_cli(*{**commands(), **MORE}[name][:-1], str(page), cwd=ROOT)
        return page

    return build


@pytest.mark.parametrize("name", ["many-kernels", "frameworks"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_map_has_the_words_that_its_areas_have_room_for(
    name: str, width: int, built: Built, look_at: OpenPage
) -> None:
    page = look_at(built(name), width=width)
    assert page.locator(".treemap .detail:visible").count() >= 3
    assert page.evaluate(CUT) == []


@pytest.mark.parametrize("name", ["comparison", "gate", "history", "predicted", "source"])
def test_no_text_runs_into_the_next(name: str, built: Built, look_at: OpenPage) -> None:
    page = look_at(built(name), width=390)
    assert page.evaluate(SPILLED) == []
    assert not has_horizontal_scroll(page)


@pytest.mark.parametrize("name", [*commands(), *MORE])
@pytest.mark.parametrize("width", part_of(2, [390, 1000], why="every page once more"))
def test_verdicts_are_broken_at_hyphens_alone(
    name: str, width: int, built: Built, look_at: OpenPage
) -> None:
    page = look_at(built(name), width=width)
    assert page.locator(".status").count() > 0
    assert page.evaluate(BROKEN) == []
    assert not has_horizontal_scroll(page)


@pytest.mark.parametrize("name", ["comparison", "gate", "ladder-bf16-h200"])
def test_the_title_has_the_width_of_the_page(name: str, built: Built, look_at: OpenPage) -> None:
    page = look_at(built(name), width=390)
    title, tools = box_of(page.locator("h1")), box_of(page.locator(".tools"))
    assert title["width"] > 350
    assert title["y"] >= tools["y"] + tools["height"] - 2


def test_a_long_text_has_a_line_of_its_own_on_a_card(built: Built, look_at: OpenPage) -> None:
    page = look_at(built("history"), width=390)
    cell = page.locator("table.cards td.broad").first
    card = box_of(cell.locator("xpath=ancestor::tr"))
    assert box_of(cell)["width"] > 0.9 * (card["width"] - 30)


def test_numbers_beside_bars_stand_in_one_line(built: Built, look_at: OpenPage) -> None:
    page = look_at(built("gate"), width=390)
    widths = page.locator("table.waterfall .track").evaluate_all(
        "cells => cells.map((cell) => cell.clientWidth)"
    )
    lines = page.locator("table.waterfall td.number").evaluate_all(
        """cells => cells.map((cell) => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return new Set([...range.getClientRects()].map((each) => each.top)).size;
        })"""
    )
    assert set(lines) == {1}
    assert min(widths) > 60
