"""The history's page: a chart and a table for each kernel, the verdict by colour and by shape."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.comparison.history.samples import history, moment, with_kernels
from tests.html.conftest import HISTORIES
from tests.html.support import cells_of, charts, screenshot, undrawn_charts

from kernelprof.report.document import Chart, Section, Table
from kernelprof.report.documents.comparison import Detail
from kernelprof.report.documents.history import document
from kernelprof.report.writers import html

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page
    from tests.html.conftest import OpenPage

    Pages = dict[str, Path]

TILE = "section:has(> h2:text-is('sgemm_warp_tile'))"


def rows(page: Page, section: str) -> list[list[str]]:
    return cells_of(page.locator(f"{section} table tbody tr"))


def texts(page: Page, section: str) -> list[str]:
    return page.locator(
        f"{section} [data-chart] :is(svg text, .ticks span, p.title)"
    ).all_text_contents()


def points(page: Page, section: str) -> list[tuple[str, str]]:
    """Colour and outline of each point of a chart."""
    found: list[list[str]] = page.locator(f"{section} [data-chart] svg.symbol path").evaluate_all(
        "all => all.map((each) => [each.style.fill, each.getAttribute('d')])"
    )
    return [(colour, outline) for colour, outline in found]


@pytest.mark.parametrize("name", HISTORIES)
def test_every_kernel_has_its_chart(histories: Pages, look_at: OpenPage, name: str, dark: bool):
    page = look_at(histories[name], dark=dark)
    page.evaluate("document.querySelectorAll('details.card').forEach((e) => { e.open = true; })")
    sections = page.locator(":is(section.panel, details.card)[id^=kernel-]").count()
    assert page.locator("[data-chart]").count() == sections > 0
    assert undrawn_charts(page) == []
    screenshot(page, f"history-{name}-{'dark' if dark else 'light'}")


def test_a_verdict_has_a_colour_and_a_shape_of_its_own(histories: Pages, look_at: OpenPage):
    page = look_at(histories["alternating"])
    assert undrawn_charts(page) == []
    drawn = points(page, TILE)
    assert len(drawn) == 3
    assert drawn[0] == drawn[2] != drawn[1]
    assert drawn[0][0] != drawn[1][0]
    assert drawn[0][1] != drawn[1][1]
    legend = page.locator(f"{TILE} > p[aria-hidden] > span").all_inner_texts()
    assert [each.strip() for each in legend] == ["fp32-throughput", "low-occupancy"]
    fills = page.locator(f"{TILE} > p[aria-hidden] path").evaluate_all(
        "all => all.map((each) => each.style.fill)"
    )
    assert fills == [drawn[0][0], drawn[1][0]]


def test_a_change_of_the_verdict_is_marked(histories: Pages, look_at: OpenPage):
    page = look_at(histories["alternating"])
    assert undrawn_charts(page) == []
    dashed = page.locator(f"{TILE} [data-chart] svg line.dashed")
    assert dashed.count() == 2
    assert {"Time", "Date (UTC)"} <= set(texts(page, TILE))


def test_the_scale_fits_the_times(histories: Pages, look_at: OpenPage):
    page = look_at(histories["alternating"])
    assert undrawn_charts(page) == []
    assert charts(page) == {"history", "history:log"}
    assert {"0 s", "400 µs", "500 µs"} <= set(texts(page, TILE))
    far = "section:has(> h2:text-is('sgemm_naive'))"
    assert {"5 ms", "10 ms", "20 ms"} <= set(texts(page, far))


def test_noise_looks_like_noise():
    """A linear scale begins at zero."""
    found = history(moment(1, "tile"), moment(2, "tile", "2"))
    page = document(found, Detail.FULL)
    (section,) = (each for each in page.blocks if isinstance(each, Section) and each.anchor)
    (chart,) = (each for each in section.blocks if isinstance(each, Chart))
    assert chart.kind == "history"
    assert [row.change for row in chart.rows] == ["-", "~"]


def test_a_tooltip_tells_all_about_a_point(histories: Pages, open_page: OpenPage):
    page = open_page(histories["alternating"])
    assert undrawn_charts(page) == []
    told = page.locator(f"{TILE} [data-chart] svg.symbol title").nth(1).text_content() or ""
    for part in ("2026-09-04", "three-blocks/2", "523.9 µs", "▲ 31 %", "low-occupancy", "H200"):
        assert part in told, part


def test_the_tables_have_every_row(histories: Pages, open_page: OpenPage):
    page = open_page(histories["eventful"])
    found = rows(page, TILE)
    assert ["|".join(row[:8]) for row in found[2:4]] == [
        "2026-09-03|three-blocks/1|511.0 µs|▲ 28 %|low-occupancy|medium|5|NVIDIA H200",
        "2026-09-04|four-blocks/3|400.2 µs|other GPU|fp32-throughput|medium||NVIDIA A100",
    ]
    overview = page.locator("#kernels tbody tr").all_inner_texts()
    assert len(overview) == 3
    page.click("#kernels a:text-is('sgemm_warp_tile')")
    assert page.locator(f"{TILE}:target").count() == 1
    page.click("#kernels th button:text-is('Newest time')")
    assert (
        page.locator("#kernels tbody tr td:first-child").all_inner_texts()[-1] == "sgemm_warp_tile"
    )


def test_text_of_strangers_is_text(histories: Pages, look_at: OpenPage):
    page = look_at(histories["hostile"])
    page.evaluate("document.querySelectorAll('details.card').forEach((e) => { e.open = true; })")
    assert undrawn_charts(page) == []
    assert page.locator("img, b").count() == 0
    assert page.title() == "History of <b>.json"
    cells = rows(page, "details.card")
    assert cells[0][1].startswith("1111111")
    assert page.locator("td:has-text('=<img src=x'), td[title*='=<img src=x']").count() > 0
    assert page.locator(".warning").inner_text().startswith("=<img")
    assert "somebody" not in histories["hostile"].read_text("utf-8")


def test_a_kernel_that_did_not_change_takes_a_line(histories: Pages, open_page: OpenPage):
    page = open_page(histories["hostile"])
    quiet = page.locator("details.card[id^=kernel-]")
    assert quiet.count() > 0
    assert "no change" in quiet.first.locator("summary").inner_text()
    assert (quiet.first.bounding_box() or {})["height"] < 100


def test_a_change_of_the_time_says_by_how_much(histories: Pages, look_at: OpenPage):
    shown = look_at(histories["alternating"]).locator(f"{TILE} svg text.change").all_text_contents()
    assert shown == ["▲ 31 %", "▼ 31 %"]


def test_a_kernel_without_times_has_a_table_and_no_chart(tmp_path: Path, open_page: OpenPage):
    bare = with_kernels(moment(1, "tile"), events_ns=(), profiled_ns=(), median_ns=None)
    target = tmp_path / "bare.html"
    target.write_text(html.write(document(history(bare), Detail.FULL)), encoding="utf-8")
    page = open_page(target)
    assert page.locator("[data-chart]").count() == 0
    assert rows(page, "section.panel")[0][2] == "-"


def test_many_rows_leave_the_tables_and_not_the_chart():
    found = history(moment(1, "tile"), moment(2, "tile", "2"))
    (kernel,) = found.kernels
    many = replace(kernel, rows=kernel.rows[:1] + kernel.rows[1:] * 6000)
    page = document(replace(found, kernels=(many,)), Detail.FULL)
    (section,) = (each for each in page.blocks if isinstance(each, Section) and each.anchor)
    (chart,) = (each for each in section.blocks if isinstance(each, Chart))
    (table,) = (each for each in section.blocks if isinstance(each, Table))
    assert (len(chart.rows), len(table.rows)) == (6001, 5000)
    assert "The newest 5000 of 6001 rows" in html.write(page)
