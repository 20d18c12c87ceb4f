"""The ladder's page: the climb with its verdicts, the way on the roofline, and each rung's card."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.html.support import (
    AGAIN,
    DARK_FIRST,
    LIGHT_FIRST,
    charts,
    has_horizontal_scroll,
    screenshot,
    undrawn_charts,
)
from tests.ladder.samples import BF16, CLIMB, TILE
from tests.support.few import few

from kernelprof.collect.recorded import FOLDER
from kernelprof.ladder.results import Trouble
from kernelprof.model.records import to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page
    from tests.conftest import RunCli
    from tests.html.conftest import AxeViolations, OpenPage

RESULTS = Path(__file__).parents[2] / "reports" / "ladder-h200.json"
CLIMBED = json.loads(RESULTS.read_text(encoding="utf-8"))
RUNGS = CLIMBED["rungs"]
KINDS = {"roofline", "memory", "shares:warps", "shares:pipes", "occupancy", "shares:instructions"}


@pytest.fixture(scope="module")
def write(run_cli: RunCli, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write the page of some results as a user does."""

    def written(results: Path, *options: str) -> Path:
        target = tmp_path_factory.mktemp("ladder") / "ladder.html"
        run = run_cli("ladder", "report", str(results), *options, "--html", str(target))
        assert (run.returncode, run.stderr) == (0, "")
        assert run.stdout.count("\n") == 1
        return target

    return written


@pytest.fixture(scope="module")
def ladder(write: Callable[..., Path]) -> Path:
    return write(RESULTS, "--captures", str(FOLDER / "h200"))


@pytest.fixture(scope="module")
def failed(write: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results with a rung that failed, no captures, and names that are no markup."""
    hostile = "<img src=x onerror=\"document.title = 'gone'\">"
    rungs = (*CLIMB.rungs[:2], replace(TILE, title=hostile, error=Trouble(f"wrong {hostile}")))
    results = tmp_path_factory.mktemp("results") / "results.json"
    results.write_text(to_json(replace(CLIMB, rungs=rungs)), encoding="utf-8")
    return write(results)


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
    found: list[list[str]] = page.evaluate(
        """() => [...document.querySelector("table.sortable").tBodies[0].rows]
            .map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"""
    )
    return found


# Charts


@pytest.mark.parametrize("dark", LIGHT_FIRST)
def test_the_climb_and_the_way_are_drawn(ladder: Path, look_at: OpenPage, dark: bool):
    page = look_at(ladder, dark=dark)
    assert charts(page) == {"climb", "roofline"}
    assert undrawn_charts(page) == []
    screenshot(page, f"ladder-{'dark' if dark else 'light'}")


@pytest.mark.parametrize("width", few([1280, 390], 1280, why=AGAIN))
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


@pytest.mark.parametrize("width", few([1280, 900, 390], 390, why=AGAIN))
def test_the_rungs_on_the_way_have_their_numbers(ladder: Path, look_at: OpenPage, width: int):
    page = look_at(ladder, width=width)
    assert undrawn_charts(page) == []
    shown = {word for text in texts(page, "roofline") for word in text.split(", ")}
    assert {str(int(rung["file"][:2])) for rung in RUNGS} <= shown


@pytest.mark.slow(AGAIN)
def test_bars_in_another_unit_are_drawn_too(
    write: Callable[..., Path], open_page: OpenPage, tmp_path: Path
):
    results = tmp_path / "results.json"
    results.write_text(to_json(BF16), encoding="utf-8")
    page = open_page(write(results))
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


@pytest.mark.slow("the same of a page that is alike")
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


def test_the_results_are_inside_and_can_be_saved(ladder: Path, open_page: OpenPage, tmp_path: Path):
    page = open_page(ladder)
    with page.expect_download() as download:
        page.click("a#download-json")
    assert download.value.suggested_filename == "results.json"
    download.value.save_as(tmp_path / "saved.json")
    saved = (tmp_path / "saved.json").read_text(encoding="utf-8")
    assert saved == RESULTS.read_text(encoding="utf-8")


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
    assert "There is no capture of this rung" in page.locator("#rung-1").inner_text()


# Everybody can read it


@pytest.mark.parametrize("dark", DARK_FIRST)
@pytest.mark.parametrize("name", few(["ladder", "failed"], "ladder", why=AGAIN))
def test_the_accessibility_checker_finds_nothing(
    request: pytest.FixtureRequest,
    open_page: OpenPage,
    axe_violations: AxeViolations,
    name: str,
    dark: bool,
):
    page = open_page(request.getfixturevalue(name), dark=dark, fragment="#rung-1")
    page.locator("#rung-1[open]").wait_for()
    assert undrawn_charts(page) == []
    assert axe_violations(page) == []


@pytest.mark.parametrize("name", ["ladder", "failed"])
def test_nothing_is_wider_than_a_phone(
    request: pytest.FixtureRequest, open_page: OpenPage, name: str
):
    page = open_page(request.getfixturevalue(name), width=390, fragment="#rung-2")
    page.locator("#rung-2[open]").wait_for()
    assert undrawn_charts(page) == []
    assert not has_horizontal_scroll(page)
    screenshot(page, f"phone-{name}")


@pytest.mark.slow("the same of a page that is alike")
def test_paper_has_headings_and_no_controls(ladder: Path, open_page: OpenPage):
    page = open_page(ladder, dark=True)
    assert undrawn_charts(page) == []
    page.emulate_media(media="print")
    for control in ("button", "input", "a#download-json"):
        assert page.locator(control).filter(visible=True).count() == 0, control
    headings = page.evaluate(
        """() => [...document.querySelector("table.sortable").querySelectorAll("th")]
            .map((cell) => getComputedStyle(cell, "::before").content)"""
    )
    assert headings[3:5] == ['"time"', '"GFLOP/s"']
    ink = "getComputedStyle(document.querySelector('[data-chart] svg text.tick')).fill"
    assert page.evaluate(ink) == "rgb(26, 29, 33)"
    screenshot(page, "print-ladder")
