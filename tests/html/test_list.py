"""Many kernels: where the time goes, and a kernel beside the list of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.html.support import (
    CAPTURES,
    box_of,
    has_horizontal_scroll,
    screenshot,
    undrawn_charts,
)

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page
    from tests.html.conftest import AxeViolations, OpenPage, Report

SERIES = CAPTURES / "gemm_series.full.raw.csv"
RANGES = CAPTURES / "validation" / "frameworks_nvtx.raw.csv.gz"


@pytest.fixture(scope="module")
def series(report: Report) -> Path:
    return report(SERIES)


def wait_for_kernel(page: Page, fragment: str) -> None:
    """Wait until this kernel is open, and no other: the page opens it after the address changed."""
    page.locator(f"#{fragment} .hero").wait_for()
    opened = page.locator("main > section.kernel:visible").evaluate_all(
        "cards => cards.map((card) => card.id)"
    )
    assert opened == [fragment]


def test_areas_are_as_large_as_shares(series: Path, open_page: OpenPage):
    page = open_page(series)
    found: list[list[float]] = page.locator(".treemap > li").evaluate_all(
        """items => items.map((item) => {
            const {width, height} = item.getBoundingClientRect();
            return [width * height, parseFloat(item.querySelector(".detail").textContent)];
        })"""
    )
    assert len(found) == 26
    whole = sum(area for area, _ in found)
    for area, share in found[:16]:
        assert 100 * area / whole == pytest.approx(share, abs=0.6)
    text = page.locator(".treemap a").first.inner_text()
    assert "gemm_bad 32x32" in text
    assert "could save 24 %" in text
    assert page.locator(".cell.k-memory").count() > page.locator(".cell.k-limit").count() == 4


def test_kernels_stand_together_by_their_range(report: Report, open_page: OpenPage):
    page = open_page(report(RANGES))
    titles = page.locator(".treemap .range").all_inner_texts()
    ranges = [title.partition(" ")[0] for title in titles]
    assert ranges == ["torch-gelu-chain", "torch-softmax", "triton-add", "torch-tiny-ops"]
    names = page.locator("#kernels td:first-child").all_inner_texts()
    assert "vectorized_elementwise_kernel tanh" in names
    assert all(len(name) < 60 and "<" not in name for name in names)


def test_a_kernel_opens_beside_the_list(series: Path, open_page: OpenPage):
    page = open_page(series)
    page.locator(".treemap a").nth(2).click()
    wait_for_kernel(page, "kernel-3")
    place, list_of = (box_of(page.locator(each)) for each in ("#kernel-3", "#kernels"))
    assert place["x"] >= list_of["x"] + list_of["width"]
    assert 0 <= place["y"] < 300
    row = page.locator("#kernels tr:has(a[aria-current]) td").first
    assert row.inner_text() == "gemm_bad 16x16"
    assert not has_horizontal_scroll(page)
    screenshot(page, "beside")


def test_keys_and_buttons_go_through_the_list_as_it_is(series: Path, open_page: OpenPage):
    page = open_page(series)
    page.click("#kernels th button:text-is('kernel')")
    page.locator("#kernels tbody a").first.click()
    wait_for_kernel(page, "kernel-8")  # atomic_hot
    page.keyboard.press("ArrowRight")
    wait_for_kernel(page, "kernel-14")  # bank_conflict
    page.click(".steps button:text-is('Next')")
    wait_for_kernel(page, "kernel-24")
    page.click(".steps button:text-is('Previous')")
    wait_for_kernel(page, "kernel-14")
    assert page.locator(".steps .place").inner_text() == "2 of 26"
    page.go_back()
    wait_for_kernel(page, "kernel-24")
    page.keyboard.press("Escape")
    page.wait_for_url("**#kernels")
    page.locator("main > section.kernel:visible").wait_for(state="hidden")
    assert page.locator(".treemap").is_visible()


def test_on_a_phone_a_kernel_stands_in_place_of_the_list(series: Path, open_page: OpenPage):
    page = open_page(series, width=390)
    rows = page.locator("#kernels tbody tr")
    assert box_of(rows.first)["height"] > 80, "a card and no row"
    heading = "cell => getComputedStyle(cell, '::before').content"
    assert page.locator("#kernels td").nth(1).evaluate(heading) == '"launches"'
    rows.first.locator("a").first.click()
    wait_for_kernel(page, "kernel-1")
    assert not page.locator("#kernels").is_visible()
    assert not has_horizontal_scroll(page)
    page.click(".steps a")
    page.locator("#kernels").wait_for()


def test_the_accessibility_checker_finds_nothing(
    series: Path, open_page: OpenPage, axe_violations: AxeViolations, dark: bool
):
    page = open_page(series, dark=dark)
    assert axe_violations(page) == []
    page.locator(".treemap a").first.click()
    page.locator("main > section.kernel:visible .hero").wait_for()
    assert undrawn_charts(page) == []
    assert axe_violations(page) == []
