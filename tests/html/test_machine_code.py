"""The machine code beside the source: a line of one marks those of the other."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.html.support import CAPTURES, box_of, has_horizontal_scroll, open_card, screenshot

from kernelprof.collect.recorded import FOLDER
from kernelprof.collect.store import CaptureDraft
from kernelprof.model.records import to_json
from kernelprof.model.sampled import to_bytes
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page
    from tests.html.conftest import AxeViolations, OpenPage, Report, WritePage

PAGES = CAPTURES / "source_page"
RUNG = "cuda/ladder/03_shared_tile.cu"
LARGEST = 400_000


@pytest.fixture(scope="module")
def tile(tmp_path_factory: pytest.TempPathFactory, report: Report) -> Path:
    """The recorded capture of a rung, with the instructions of another run of the same code."""
    folder = tmp_path_factory.mktemp("tile") / "capture"
    shutil.copytree(FOLDER / "h200" / "03_shared_tile", folder)
    codes = read_capture(PAGES / "shared_tile.source_counters.csv.gz").code
    data = to_bytes(each.with_files(lambda _: RUNG) for each in codes)
    name, digest = CaptureDraft(folder, folder, replaces=False).store("code", 0, data, "json")
    manifest = read_manifest(folder)
    run = replace(manifest.runs[0], code=name, code_sha256=digest)
    changed = to_json(replace(manifest, runs=(run,)))
    (folder / "manifest.json").write_text(changed, encoding="utf-8")
    return report(folder)


@pytest.fixture(scope="module")
def several(write_page: WritePage) -> Path:
    """Three kernels with their instructions."""
    raw = CAPTURES / "fixture_basic.raw.csv"
    return write_page("diagnose", raw, PAGES / "fixture.csv.gz", "--merge", "--html")


def panes(page: Page) -> tuple[Locator, Locator]:
    source = page.locator(".panes:visible > .code:not(.machine)")
    return source, page.locator(".panes:visible > .machine")


def marked(page: Page) -> tuple[str, int, bool]:
    """The chosen line, how many instructions are marked, and whether one of them is to be seen."""
    found: tuple[str, int, bool] = page.evaluate(
        """() => {
            const all = [...document.querySelectorAll(".panes")];
            const panes = all.find((each) => each.checkVisibility());
            const box = panes.querySelector(".machine").getBoundingClientRect();
            const own = [...panes.querySelectorAll("tr.own")];
            const isSeen = (row) => {
                const {top, bottom} = row.getBoundingClientRect();
                return top >= box.top && bottom <= box.bottom;
            };
            return [panes.querySelector("tr.chosen").dataset.line, own.length, own.some(isSeen)];
        }"""
    )
    return found


def test_it_stands_beside_the_source_at_the_line_to_blame(
    tile: Path, open_page: OpenPage, axe_violations: AxeViolations, dark: bool
):
    page = open_page(tile, dark=dark)
    left, right = map(box_of, panes(page))
    assert left["y"] == right["y"]
    assert right["x"] >= left["x"] + left["width"]
    assert right["x"] + right["width"] <= 1280
    assert list(marked(page)) == ["88", 72, True]
    assert page.locator(".panes .told").inner_text() == "Line 88: 72 instructions"
    line = page.locator("tr#kernel-1-line-82")
    assert line.locator("td").all_inner_texts()[::3] == ["11 %", "4 sectors, 1 wavefront"]
    assert not has_horizontal_scroll(page)
    assert tile.stat().st_size < LARGEST
    assert axe_violations(page) == []
    screenshot(page, f"machine-code-{'dark' if dark else 'light'}")


def test_a_line_is_chosen_by_a_click_by_keys_and_by_a_link(tile: Path, open_page: OpenPage):
    page = open_page(tile)
    source, machine = panes(page)
    source.locator("tr[data-line='83'] code").click()
    assert marked(page)[0] == "83"
    assert marked(page)[2]
    source.locator("tr[data-line='82'] button").press("ArrowDown")
    assert marked(page)[0] == "83"
    page.keyboard.press("ArrowDown")
    assert list(marked(page)) == ["84", 1, True]
    assert page.evaluate("document.activeElement.textContent") == "84"
    pressed = source.locator("button[aria-pressed=true]")
    assert pressed.all_inner_texts() == ["84"]
    assert source.locator("button:not([tabindex='-1'])").all_inner_texts() == ["84"]
    machine.locator("tr[data-of='92']").first.scroll_into_view_if_needed()
    machine.locator("tr[data-of='92'] code").first.click()
    assert marked(page)[0] == "92"
    page.locator("a[href='#kernel-1-line-88']").first.click()
    page.wait_for_function("document.querySelector('tr.chosen').dataset.line === '88'")


def test_on_a_phone_it_stands_below(tile: Path, open_page: OpenPage, axe_violations: AxeViolations):
    page = open_page(tile, width=390)
    left, right = map(box_of, panes(page))
    assert left["x"] == right["x"]
    assert right["y"] >= left["y"] + left["height"]
    assert not has_horizontal_scroll(page)
    assert axe_violations(page, ".panes") == []
    screenshot(page, "machine-code-phone")


def test_a_card_beside_the_list_has_its_own(
    several: Path, open_page: OpenPage, axe_violations: AxeViolations
):
    for width in (1280, 390):
        page = open_page(several, width=width)
        card = open_card(page, 0)
        first = marked(page)
        number = card.removeprefix("#kernel-")
        assert first[1] > 0
        assert page.locator(f"{card} tr.chosen").get_attribute("id") == (
            f"kernel-{number}-line-{first[0]}"
        )
        assert not has_horizontal_scroll(page)
        assert axe_violations(page) == []


def test_the_address_of_a_line_opens_its_card(several: Path, open_page: OpenPage):
    page = open_page(several)
    address = page.locator("#kernels tbody a").nth(1).get_attribute("href")
    assert address is not None
    card = open_card(page, 1)
    line = page.locator(f"{card} tr[data-line]").last.get_attribute("id")
    page = open_page(several, fragment=f"#{line}")
    page.locator(f"tr#{line}.chosen").wait_for()
    assert page.locator(f"{card} .hero").is_visible()


def test_without_a_script_the_instructions_of_the_line_to_blame_are_marked(
    tile: Path, browser: Browser
):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(tile.resolve().as_uri())
        assert page.locator("tr.own").count() == 72
