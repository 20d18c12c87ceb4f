"""The page of a comparison: before and after side by side, in a browser."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import pytest
from tests.html.conftest import MARKUP
from tests.html.support import cells_of, charts, screenshot, undrawn_charts
from tests.report.changes import taken

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page
    from tests.html.conftest import OpenPage

    PageNamed = Callable[[str], Path]


def names(page: Page) -> list[str]:
    return page.locator("#kernels tbody tr td:first-child").all_inner_texts()


# Charts


def test_every_chart_of_a_kernel_is_drawn(faster: Path, look_at: OpenPage, dark: bool):
    page = look_at(faster, dark=dark)
    assert charts(page) == {"waterfall", "launches", "roofline", "states"}
    assert undrawn_charts(page) == []
    assert page.locator(".scroll > table:not(.sortable) td.bars .fill").count() == 10 + 10
    screenshot(page, f"comparison-{'dark' if dark else 'light'}")


@pytest.mark.parametrize("name", ["faster", "slower_page"])
def test_the_causes_add_up_to_no_more_than_the_change(
    page_named: PageNamed, look_at: OpenPage, name: str
):
    page = look_at(page_named(name))
    rows = page.locator("[data-chart=waterfall] tr").all_inner_texts()
    assert rows[0].startswith("Before")
    assert rows[-1].startswith("After")
    named = [row for row in rows[1:-1] if not row.startswith("everything else")]
    assert 1 <= len(named) <= 3
    parts = [float(row.rpartition(",")[2].replace("%", "")) for row in named]
    assert 0 < sum(parts) <= 100
    assert sum(parts) > 50


def test_each_launch_is_a_dot(faster: Path, look_at: OpenPage):
    page = look_at(faster)
    assert undrawn_charts(page) == []
    labels = page.locator("[data-chart=launches] svg circle.launch > title")
    assert labels.count() == 20 + 20
    assert "Before: median 275.9 ms, 20 launches" in page.locator("main").inner_text()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["faster", "slower_page"])
def test_the_way_on_the_roofline_can_be_read(
    page_named: PageNamed, look_at: OpenPage, name: str, width: int
):
    page = look_at(page_named(name), width=width)
    assert undrawn_charts(page) == []
    points = page.locator("[data-chart=roofline] svg.symbol title:text-matches('FLOP per byte')")
    assert points.count() >= 2 * 3


def test_the_overview_has_a_mark_a_kernel(many_compared: Path, look_at: OpenPage):
    page = look_at(many_compared)
    assert {each.partition(":")[0] for each in charts(page)} == {"changes"}
    assert undrawn_charts(page) == []
    marks = page.locator("[data-chart^=changes] svg.symbol path")
    assert marks.count() == 9
    assert page.locator("#kernels tbody tr").count() == 9 + 2
    screenshot(page, "comparison-many")


# What it says


def test_the_top_says_what_happened(slower_page: Path, look_at: OpenPage):
    page = look_at(slower_page)
    top = page.locator(".hero")
    assert "1.63x slower; more shared-memory wavefronts" in top.locator(".headline").inner_text()
    rows = {name: texts for name, *texts in cells_of(top.locator("table tbody tr"))}
    times = rows["time"]
    medians = [median(taken(label, "1").kernels[0].events_ns) for label in ("tile", "tile-barrier")]
    assert times == [f"{each / 1e6:.4g} ms" for each in medians]
    assert top.locator("h2 .status.bad").inner_text() == "1.63x slower"
    assert rows["verdict"] == ["shared-memory-throughput", "instruction-issue"]
    assert "95 % interval 1.6256 to 1.6279" in top.inner_text()


def test_worse_counters_say_so_in_words(slower_page: Path, look_at: OpenPage):
    page = look_at(slower_page)
    counters = page.locator(".panel:has(h3:text-is('Exact counters'))")
    marks = counters.locator("tbody tr td:last-child").all_inner_texts()
    assert marks == ["worse", "worse", "", ""]
    assert counters.locator(".status.bad").count() == 2


def test_the_diff_is_read_out(slower_page: Path, look_at: OpenPage):
    page = look_at(slower_page)
    labels = "signs => signs.map((sign) => sign.getAttribute('aria-label'))"
    removed = page.locator("table.diff tr.removed .sign").evaluate_all(labels)
    added = page.locator("table.diff tr.added .sign").evaluate_all(labels)
    assert set(removed) == {"removed"}
    assert set(added) == {"added"}
    title = page.get_by_text("The source:").inner_text()
    assert title == f"The source: {len(removed)} lines removed, {len(added)} added"


def test_another_machine_is_told_and_times_are_not_compared(machines: Path, open_page: OpenPage):
    page = open_page(machines)
    top = page.locator(".hero").inner_text()
    assert "times not comparable (different GPU" in top
    assert "kinds of change at once" in top
    assert "roofline" not in charts(page)
    assert "different limits" in page.locator("main").inner_text()
    sides = page.locator(".panel:has(h2:text-is('Where this comes from')) table")
    (gpu,) = (row for row in sides.locator("tr").all_inner_texts() if row.startswith("GPU\t"))
    assert "NVIDIA B200" in gpu


# Tables and cards


def test_the_table_sorts_and_filters(many_compared: Path, open_page: OpenPage):
    page = open_page(many_compared)
    heading = page.locator("#kernels th").nth(1)
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    first = names(page)
    heading.locator("button").click()
    assert names(page) == first[::-1]
    page.fill("#kernels input.filter", "tiled<32")
    assert page.locator("#kernels tbody tr").filter(visible=True).count() == 2
    assert page.locator("#kernels .shown").inner_text() == "2 of 11 shown"


def test_a_row_opens_its_card_by_mouse_and_by_keyboard(many_compared: Path, open_page: OpenPage):
    page = open_page(many_compared)
    page.click("#kernels a[href='#kernel-3']")
    card = page.locator("details#kernel-3[open]")
    card.locator("[data-chart]").first.wait_for()
    assert "launches:near" in charts(page, "#kernel-3")
    assert undrawn_charts(page, "#kernel-3") == []
    page.locator("#kernels a[href='#kernel-5']").focus()
    page.keyboard.press("Enter")
    page.locator("details#kernel-5[open] [data-chart]").first.wait_for()
    assert page.evaluate("document.activeElement.closest('details').id") == "kernel-5"


def test_what_is_on_one_side_only_is_listed(many_compared: Path, look_at: OpenPage):
    page = look_at(many_compared)
    lone = page.locator("#kernels tbody tr:has-text('vanished')").all_inner_texts()
    assert len(lone) == 2
    assert all(each.startswith("gemm_bad") for each in lone)


def test_all_changed_metrics_can_be_searched(faster: Path, open_page: OpenPage):
    page = open_page(faster)
    panel = page.locator("details:has(> .filtered)")
    panel.locator("summary").click()
    rows = panel.locator("tbody tr")
    rows.first.wait_for()
    assert rows.count() > 40
    panel.locator("input").fill("stall_lg")
    assert rows.filter(visible=True).count() == 1
    assert "422.3" in rows.filter(visible=True).inner_text()


def test_text_of_strangers_stays_text(hostile_compared: Path, open_page: OpenPage):
    page = open_page(hostile_compared)
    assert page.title() == "Comparison: 2 kernels"
    for row in page.locator("#kernels a").all():
        row.click()
    page.locator("#kernel-2[open] table.diff").wait_for()
    assert undrawn_charts(page) == []
    assert page.locator("img").count() == 0
    assert page.locator("table.diff tr.removed code").last.inner_text() == MARKUP
    assert page.title() == "Comparison: 2 kernels"


def test_paper_has_the_whole_difference(faster: Path, open_page: OpenPage):
    page = open_page(faster, dark=True)
    page.emulate_media(media="print")
    assert page.locator("table.diff tr").last.is_visible()
    box = "(() => { const {scrollHeight, clientHeight} = document.querySelector('.code'); "
    assert page.evaluate(f"{box} return scrollHeight <= clientHeight; }})()")
