"""The ladder's page: the climb with its verdicts, the way on the roofline, and each rung's card."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.html.support import (
    KINDS,
    RESULTS,
    cells_of,
    charts,
    screenshot,
    undrawn_charts,
)
from tests.ladder.samples import BF16

from kernelprof.model.records import to_json

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page
    from tests.html.conftest import OpenPage, WritePage

CLIMBED = json.loads(RESULTS.read_text(encoding="utf-8"))
RUNGS = CLIMBED["rungs"]


def gflops(timing: dict[str, float]) -> float:
    return 2 * 4096**3 / timing["median_ns"]


def texts(page: Page, chart: str) -> list[str]:
    found: list[str] = page.evaluate(
        """(chart) => [...document.querySelectorAll(`main > section > .${chart} *`)]
            .filter((text) => text.matches("svg text, th, td") && text.checkVisibility())
            .map((text) => text.textContent)""",
        chart,
    )
    return found


def rows(page: Page) -> list[list[str]]:
    return cells_of(page.locator("table.sortable").first.locator("tbody tr"))


# Charts


def test_the_climb_and_the_way_are_drawn(ladder: Path, look_at: OpenPage, dark: bool):
    page = look_at(ladder, dark=dark)
    assert charts(page) == {"climb", "roofline"}
    assert undrawn_charts(page) == []
    screenshot(page, f"ladder-{'dark' if dark else 'light'}")


@pytest.mark.parametrize("width", [1280, 390])
def test_every_rung_has_its_bar_and_its_verdict(ladder: Path, look_at: OpenPage, width: int):
    page = look_at(ladder, width=width)
    assert undrawn_charts(page) == []
    shown = texts(page, "climb")
    for rung in RUNGS:
        # Long names are cut at the axis.
        start = f"{int(rung['file'][:2])} {rung['title']}"[:10]
        assert any(text.startswith(start) for text in shown)
        said = f"{gflops(rung['timing']):,.0f} {rung['full']['said']['bottleneck']}"
        assert any(text.startswith(said) for text in shown)
    ceiling = gflops(CLIMBED["ceiling"]["timing"])
    assert f"cuBLAS {ceiling:,.0f}FP32 peak 66,908" in shown
    bars = page.locator("[data-chart=climb] .fill")
    assert bars.count() == len(RUNGS)


@pytest.mark.parametrize("width", [1280, 900, 390])
def test_the_rungs_on_the_way_have_their_numbers(ladder: Path, look_at: OpenPage, width: int):
    page = look_at(ladder, width=width)
    assert undrawn_charts(page) == []
    shown = {word for text in texts(page, "roofline") for word in text.split(", ")}
    assert {str(int(rung["file"][:2])) for rung in RUNGS} <= shown


def test_bars_in_another_unit_are_drawn_too(
    write_page: WritePage, open_page: OpenPage, tmp_path: Path
):
    results = tmp_path / "results.json"
    results.write_text(to_json(BF16), encoding="utf-8")
    page = open_page(write_page("ladder", "report", results, "--html"))
    assert "climb:tflops" in charts(page)
    assert undrawn_charts(page) == []
    shown = page.locator('[data-chart="climb:tflops"] td').all_text_contents()
    assert "TFLOP/s" in shown
    assert any(text.endswith("BF16 tensor peak 40.96") for text in shown)


# Table and cards


def test_the_table_sorts_both_ways(ladder: Path, open_page: OpenPage):
    page = open_page(ladder)
    assert [row[0].split()[0] for row in rows(page)] == [str(number) for number in range(1, 14)]
    heads = page.locator("table.sortable").first.locator("th")
    time = heads.nth(3)
    time.locator("button").click()
    assert time.get_attribute("aria-sort") == "descending"
    by_time = sorted(RUNGS, key=lambda rung: rung["timing"]["median_ns"])
    numbers = [str(int(rung["file"][:2])) for rung in by_time]
    assert [row[0].split()[0] for row in rows(page)] == numbers[::-1]
    time.locator("button").click()
    assert [row[0].split()[0] for row in rows(page)] == numbers
    heads.nth(1).locator("button").click()
    verdicts = [row[1] for row in rows(page)]
    assert verdicts == sorted(verdicts)


def test_a_row_opens_its_card_by_mouse_and_by_keyboard(ladder: Path, open_page: OpenPage):
    page = open_page(ladder)
    card = page.locator("details#rung-3")
    assert card.locator(".hero").count() == 0
    page.click("table.sortable a[href='#rung-3']")
    card.locator("#rung-3-kernel-1-title").wait_for()
    assert card.locator("#rung-3-kernel-1-title").inner_text() == (
        "sgemm_shared_tile Limited by shared-memory-throughput"
    )
    assert charts(page, "#rung-3") >= KINDS
    assert undrawn_charts(page, "#rung-3") == []
    assert page.evaluate("document.activeElement.closest('details').id") == "rung-3"
    link = page.locator("table.sortable a[href='#rung-13']")
    link.focus()
    page.keyboard.press("Enter")
    page.locator("#rung-13 .hero.good").wait_for()
    summary = page.locator("details#rung-5 > summary")
    summary.focus()
    page.keyboard.press("Enter")
    page.locator("#rung-5 .hero").wait_for()


def test_an_address_opens_a_card(ladder: Path, open_page: OpenPage):
    page = open_page(ladder, fragment="#rung-8")
    page.locator("#rung-8 .hero").wait_for()
    assert undrawn_charts(page, "#rung-8") == []


def test_the_points_are_there_as_a_table(ladder: Path, open_page: OpenPage):
    page = open_page(ladder)
    details = page.locator("details.as-table[data-table=roofline]").first
    details.locator("summary").click()
    lines = details.locator("tbody tr").all_inner_texts()
    rate = gflops(RUNGS[12]["timing"]) / 1e3
    intensity = 2 * 4096**3 / RUNGS[12]["traffic"]["dram"]
    assert f"13 Double buffered\t{intensity:.1f} FLOP per byte, {rate:.2f} TFLOP/s" in lines
    assert "FP32 peak (datasheet)\t66.91 TFLOP/s" in lines
    assert len(lines) == len(RUNGS) + 3 + 1


# What failed, and text of strangers


def test_a_rung_that_failed_is_shown_as_failed(failed: Path, open_page: OpenPage):
    page = open_page(failed)
    assert undrawn_charts(page) == []
    last = rows(page)[-1]
    assert [last[1], *last[3:5]] == ["failed", "-", "-"]
    assert "1 rung failed." in page.locator(".hero").inner_text()
    page.locator("details#rung-3 > summary").click()
    assert "failed: wrong <img" in page.locator("details#rung-3").inner_text()
    assert page.locator("img").count() == 0
    assert page.title() == "The GEMM ladder on Some GPU"


def test_a_rung_without_a_capture_says_so(failed: Path, open_page: OpenPage):
    page = open_page(failed, fragment="#rung-1")
    assert "No capture of this rung was found" in page.locator("#rung-1").inner_text()


def test_paper_has_the_headings_of_the_table(ladder: Path, open_page: OpenPage):
    page = open_page(ladder, dark=True)
    page.emulate_media(media="print")
    headings = page.evaluate(
        """() => [...document.querySelector("table.sortable").querySelectorAll("th")]
            .map((cell) => getComputedStyle(cell, "::before").content)"""
    )
    assert headings[3:5] == ['"time"', '"GFLOP/s"']
