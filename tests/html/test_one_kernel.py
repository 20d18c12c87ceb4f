"""The card of a kernel: what limits it is marked in every picture, and stands at the top."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.html.support import box_of, has_horizontal_scroll

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser
    from tests.html.conftest import OpenPage


def test_the_answer_needs_no_scrolling(tile: Path, look_at: OpenPage):
    page = look_at(tile)
    told = page.locator(".hero").inner_text()
    for part in (
        "Limited by shared-memory-throughput",
        "86 % of peak",
        "about 2.5x as fast (1.50x to 4.2x)",
        "First: Use register tiles",
    ):
        assert part in told, part
    hero = box_of(page.locator(".hero").first)
    assert hero["y"] + hero["height"] < 450
    evidence, advice = (
        box_of(page.locator(f".panel:has(> h3:text-is('{title}'))"))
        for title in ("Evidence", "What to do")
    )
    assert evidence["y"] == advice["y"]
    assert advice["x"] > evidence["x"] + evidence["width"]
    assert advice["y"] + 200 < 900


def test_nothing_at_the_top_is_said_twice_and_few_words_are_bold(tile: Path, look_at: OpenPage):
    page = look_at(tile)
    hero, top = page.locator(".hero").inner_text(), page.locator("header.top").inner_text()
    assert (hero + top).count("H200") == 1
    assert "03_shared_tile" not in top, "the path stands below the answer"
    assert "03_shared_tile" in page.locator("footer").inner_text()
    assert hero.count("15.6 ms") == 2
    assert "15.6 ms, the median of 20 launches; 15.6 ms with the profiler" in hero
    bold = page.locator(".hero > .facts dd").evaluate_all(
        "all => all.filter((each) => Number(getComputedStyle(each).fontWeight) > 400).length"
    )
    assert bold == 0
    strong = page.locator(".hero > .facts strong").all_inner_texts()
    assert strong == ["high", "15.6 ms", "13 %", "86 %"]
    assert box_of(page.locator(".tools"))["x"] > 1000


def test_the_path_that_limits_is_marked_in_the_memory(tile: Path, look_at: OpenPage):
    page = look_at(tile)
    (limiting,) = page.locator(".memory-map .link.limiting").all_inner_texts()
    assert "432.7 GB" in limiting
    assert "83 % of peak" in limiting
    assert "limits the kernel" in limiting
    levels = page.locator(".memory-map .level").all_inner_texts()
    names = [each.partition("\n")[0] for each in levels]
    assert names == ["Kernel", "L1", "Shared memory", "L2", "Device memory"]
    bars = page.locator(".memory-map .link .fill").evaluate_all(
        """fills => fills.map((fill) =>
            fill.getBoundingClientRect().width / fill.parentElement.clientWidth)"""
    )
    assert bars == pytest.approx([0.83, 0.16, 0.11], abs=0.01), "linear, from nothing to the peak"


def test_the_limit_is_marked_in_the_roofline_and_no_names_overlap(tile: Path, look_at: OpenPage):
    # On a phone there is no room for its value, which the table of the chart has.
    for width, name in ((1280, "L1 and shared memory 33.43 TB/s: limits"), (390, "L1: limits")):
        page = look_at(tile, width=width)
        assert page.locator(".roofline line.limiting").count() == 1
        assert page.locator(".roofline text.limiting:visible").text_content() == name
        boxes: list[list[float]] = page.locator(".roofline text.roof-name:visible").evaluate_all(
            """texts => texts.map((text) => {
                const {left, top, right, bottom} = text.getBoundingClientRect();
                return [left, top, right, bottom];
            })"""
        )
        assert len(boxes) == 4
        for at, one in enumerate(boxes):
            for other in boxes[at + 1 :]:
                apart = one[2] <= other[0] or other[2] <= one[0]
                assert apart or one[3] <= other[1] or other[3] <= one[1]
        assert page.locator(".roofline svg.symbol").count() == 5
        assert not has_horizontal_scroll(page)


def test_the_source_opens_at_the_line_to_blame(tile: Path, open_page: OpenPage):
    page = open_page(tile)
    listing = page.locator("div.code:has(table.source)")
    line = page.locator("tr#kernel-1-line-88")
    outer, inner = box_of(listing), box_of(line)
    assert outer["y"] <= inner["y"] < outer["y"] + outer["height"]
    assert "71 %" in line.inner_text()


def test_no_script_is_needed_to_see_it(tile: Path, browser: Browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(tile.resolve().as_uri())
    assert page.locator(".roofline svg.symbol").count() == 5
    assert page.locator(".memory-map .link").count() >= 4
    context.close()
