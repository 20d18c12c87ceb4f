"""What a report is: one file, safe, with every chart drawn and everything in it working."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from tests.html.conftest import HOSTILE
from tests.html.support import (
    FULL,
    INK,
    KINDS,
    charts,
    has_horizontal_scroll,
    open_card,
    screenshot,
    undrawn_charts,
)

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page
    from tests.html.conftest import OpenPage


def names_shown(page: Page) -> list[str]:
    shown: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("#kernels tbody tr")]
            .filter((row) => row.checkVisibility()).map((row) => row.cells[0].innerText.trim())"""
    )
    return shown


def open_metrics(page: Page, card: str) -> None:
    """Unfold whatever hides the table of all metrics."""
    field = page.locator(f"{card} details input.filter")
    if not field.is_visible():
        page.locator(f"{card} details:has(input.filter) > summary").click()
    field.wait_for()


class References(HTMLParser):
    """What a browser would fetch for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"src", "srcset", "poster", "data", "background", "ping", "action"}:
                self.found.append(f"{tag} {name}={value}")
        if tag in {"link", "base", "iframe", "object", "embed"}:
            self.found.append(tag)


# One file


def test_the_file_refers_to_no_other(four: Path):
    text = four.read_text(encoding="utf-8")
    references = References()
    references.feed(text)
    assert [each for each in references.found if "=data:" not in each] == []
    styles = " ".join(re.findall(r"<style[^>]*>(.*?)</style>", text, re.DOTALL))
    assert not re.search(r"@import|url\((?!['\"]?data:)", styles)


def test_a_policy_forbids_the_network(four: Path):
    text = four.read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy"\s+content="([^"]*)"', text)
    assert policy is not None
    assert "default-src &#39;none&#39;" in policy[1] or "default-src 'none'" in policy[1]
    assert "unsafe-eval" not in policy[1]
    scripts = next(part for part in policy[1].split(";") if "script-src" in part)
    assert "unsafe-inline" not in scripts
    assert "sha256-" in scripts
    assert "http" not in policy[1]


def test_no_folder_and_no_host_of_the_machine_is_in_it(four: Path):
    text = four.read_text(encoding="utf-8")
    assert FULL.name in text
    assert str(FULL.parent) not in text
    assert "127.0.0.1" not in text


def test_sizes(single: Path, many: Path):
    assert single.stat().st_size < 400_000
    assert many.stat().st_size < 1_500_000


# Charts


def test_one_kernel_has_every_chart_drawn(single: Path, look_at: OpenPage, dark: bool):
    page = look_at(single, dark=dark)
    assert charts(page) >= KINDS
    assert undrawn_charts(page) == []
    screenshot(page, f"single-{'dark' if dark else 'light'}")


def test_each_card_of_several_has_its_charts_drawn(four: Path, open_page: OpenPage):
    page = open_page(four)
    assert "overview" in charts(page)
    for number in range(4):
        card = open_card(page, number)
        assert charts(page, card) >= KINDS
        assert undrawn_charts(page, card) == []
    assert undrawn_charts(page) == []
    screenshot(page, "four")


def test_charts_stay_drawn_when_theme_and_width_change(single: Path, open_page: OpenPage):
    page = open_page(single)
    assert undrawn_charts(page) == []
    page.evaluate(
        "document.querySelectorAll('svg').forEach((svg) => { svg.dataset.same = 'yes'; })"
    )
    light = page.evaluate(INK)
    page.click("#theme")
    assert page.evaluate(INK) != light
    assert page.locator("[data-chart] svg:not([data-same])").count() == 0, "drawn again"
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(200)
    assert undrawn_charts(page) == []
    assert not has_horizontal_scroll(page)


# What can be done with it


def test_the_theme_follows_the_system_and_the_button(four: Path, open_page: OpenPage):
    paper = "getComputedStyle(document.body).backgroundColor"
    light, dark = open_page(four), open_page(four, dark=True)
    colours = light.evaluate(paper), dark.evaluate(paper)
    assert colours[0] != colours[1]
    light.click("button#theme")
    dark.click("button#theme")
    assert light.evaluate("document.documentElement.dataset.theme") == "dark"
    assert dark.evaluate("document.documentElement.dataset.theme") == "light"
    assert (dark.evaluate(paper), light.evaluate(paper)) == colours


def test_every_column_sorts_both_ways(many: Path, open_page: OpenPage):
    page = open_page(many)
    heads = page.locator("#kernels th")
    for column in range(heads.count()):
        button = heads.nth(column).locator("button")
        if button.count() == 0:
            continue
        seen = {}
        for _ in range(2):
            button.click()
            direction = heads.nth(column).get_attribute("aria-sort")
            seen[direction] = page.evaluate(
                """(column) => [...document.querySelectorAll("#kernels tbody tr")]
                    .map((row) => row.cells[column])
                    .map((cell) => cell.dataset.value ?? cell.innerText)""",
                column,
            )
            assert len(names_shown(page)) == 200
            sorted_heads = page.locator("#kernels th[aria-sort$='ending']")
            assert sorted_heads.count() == 1
        assert set(seen) == {"ascending", "descending"}
        numbers = [_number(text) for text in seen["ascending"]]
        if None not in numbers:
            assert numbers == sorted(numbers)  # type: ignore[type-var]
        assert _without_ties(seen["ascending"]) == _without_ties(seen["descending"])[::-1]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _without_ties(values: list[str]) -> list[str]:
    return list(dict.fromkeys(values))


def test_the_filter_leaves_what_matches(four: Path, open_page: OpenPage):
    page = open_page(four)
    everything = names_shown(page)
    page.fill("#kernels input.filter", "GEMM_TILED")
    assert names_shown(page) == [name for name in everything if "gemm_tiled" in name]
    page.fill("#kernels input.filter", "uncoalesced-global-access")
    assert names_shown(page) == [name for name in everything if "gemm_bad" in name]
    page.fill("#kernels input.filter", "nothing is called so")
    assert names_shown(page) == []
    page.fill("#kernels input.filter", "")
    assert names_shown(page) == everything


def test_a_link_and_an_address_open_a_card(many: Path, open_page: OpenPage):
    page = open_page(many)
    card = open_card(page, 150)
    assert page.locator(f"{card} h2").is_visible()
    assert undrawn_charts(page, card) == []
    straight = open_page(many, fragment=card)
    straight.locator(f"section.kernel{card} h2").wait_for()
    straight.wait_for_function(
        "(card) => document.querySelector(card).getBoundingClientRect().top < innerHeight", arg=card
    )
    assert straight.locator(f"section.kernel{card}").inner_text()


def test_a_command_is_copied(unsettled: Path, open_page: OpenPage):
    page = open_page(unsettled)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    card = open_card(page, 0)
    page.locator(f"{card} details:has(button.copy) > summary").click()
    button = page.locator("button.copy[data-copy-target]").first
    target = button.get_attribute("data-copy-target")
    button.click()
    page.wait_for_function(
        "() => document.querySelector('button.copy').innerText.trim() === 'Copied'"
    )
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator(f"#{target}").text_content()
    assert "ncu" in copied


def test_metrics_can_be_searched(single: Path, open_page: OpenPage):
    page = open_page(single)
    card = "#" + str(page.locator("section.kernel").first.get_attribute("id"))
    open_metrics(page, card)
    table = page.locator(f"{card} details:has(input.filter)")
    rows = table.locator("tbody tr").filter(visible=True)
    page.wait_for_function("(card) => document.querySelector(`${card} td`)", arg=card)
    before = rows.count()
    page.fill(f"{card} details input.filter", "DRAM__bytes")
    found = rows.all_inner_texts()
    assert 0 < len(found) < before
    assert all("dram__bytes" in text for text in found)
    page.fill(f"{card} details input.filter", "")
    assert rows.count() == before


# Safety


def test_a_hostile_name_stays_text(hostile: Path, open_page: OpenPage):
    page = open_page(hostile)
    page.wait_for_timeout(100)
    title = page.title()
    for number in range(len(HOSTILE)):
        card = open_card(page, number)
        assert undrawn_charts(page, card) == []
        page.locator(f"{card} h2").hover()
    assert page.title() == title != "gone"
    assert page.locator("#injected").count() == 0
    assert page.locator("img").count() == 0
    assert page.locator("[onerror], [onmouseover]").count() == 0
    shown = page.locator("body").inner_text()
    for name in HOSTILE:
        if "\u202e" not in name:
            assert name in shown
    assert "\u202e" not in shown


def test_tooltips_of_charts_are_text(hostile: Path, open_page: OpenPage):
    page = open_page(hostile)
    assert undrawn_charts(page) == []
    told = page.locator("[data-chart=overview] .cell").evaluate_all(
        "cells => cells.map((cell) => cell.title)"
    )
    assert len(told) == len(HOSTILE)
    assert page.locator("#injected, img, b[onmouseover]").count() == 0
