"""Everybody can read a report: with a keyboard, a screen reader, on a phone and on paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.html.support import open_card, undrawn_charts

if TYPE_CHECKING:
    from pathlib import Path

    from tests.html.conftest import AxeViolations, OpenPage


def test_unfolded_parts_are_accessible_too(
    unsettled: Path, open_page: OpenPage, axe_violations: AxeViolations, dark: bool
):
    page = open_page(unsettled, dark=dark)
    card = open_card(page, 0)
    page.evaluate(
        """(card) => document.querySelectorAll(`${card} details`)
            .forEach((part) => { part.open = true; })""",
        card,
    )
    undrawn_charts(page, card)
    page.fill(f"{card} details input.filter", "dram")
    assert axe_violations(page, card) == []


def test_charts_have_names_for_screen_readers(single: Path, open_page: OpenPage):
    page = open_page(single)
    assert undrawn_charts(page) == []
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("[data-chart]")].filter((chart) =>
            !chart.matches("[role=img][aria-label]") && !chart.querySelector("th, li"))
            .map((chart) => chart.dataset.chart)"""
    )
    assert nameless == []


def test_the_keyboard_reaches_and_shows_everything(four: Path, open_page: OpenPage):
    page = open_page(four)
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        place, outlined = page.evaluate(
            """() => {
                const here = document.activeElement;
                const style = getComputedStyle(here);
                const ring = (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0)
                    || style.boxShadow !== "none";
                return [here.id || here.className || here.closest("th")?.innerText
                    || here.getAttribute("href") || here.tagName, ring];
            }"""
        )
        if place == "BODY":
            break
        reached.append(place)
        assert outlined, f"nothing shows that {place} has the focus"
    assert {"theme", "download-json", "filter"} <= set(reached)
    assert len(reached) > 10


def test_the_keyboard_sorts_and_opens(four: Path, open_page: OpenPage):
    page = open_page(four)
    head = page.locator("#kernels th").first
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") in {"ascending", "descending"}
    link = page.locator("#kernels tbody a").nth(2)
    card = link.get_attribute("href")
    link.focus()
    page.keyboard.press("Enter")
    page.locator(f"section.kernel{card} h2").wait_for()
