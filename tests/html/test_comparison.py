"""The page of a comparison: before and after side by side, in a browser."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pytest
from msgspec import structs
from tests.html.support import (
    AGAIN,
    CAPTURES,
    DARK_FIRST,
    LIGHT_FIRST,
    charts,
    has_horizontal_scroll,
    screenshot,
    undrawn_charts,
)
from tests.report.changes import comparison, slower, taken
from tests.support.few import few

from kernelprof.collect.recorded import FOLDER
from kernelprof.comparison.compare import compare
from kernelprof.report.documents.comparison import Detail, document
from kernelprof.report.writers import html

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from tests.conftest import RunCli
    from tests.html.conftest import AxeViolations, OpenPage

SERIES = CAPTURES / "gemm_series.same-code-13x.raw.csv"
HOSTILE = "<img src=x onerror=\"document.title = 'gone'\"></script><script>alert(1)</script>"
PAGES = ["faster", "slower", "many", "hostile", "machines"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("comparison")


def written(run_cli: RunCli, target: Path, before: Path, after: Path) -> Path:
    """The page as a user writes it."""
    run = run_cli("compare", str(before), str(after), "--html", str(target))
    assert (run.returncode, run.stderr) == (0, "")
    return target


@pytest.fixture(scope="session")
def faster(run_cli: RunCli, folder: Path) -> Path:
    recorded = FOLDER / "h200"
    target = folder / "faster.html"
    return written(run_cli, target, recorded / "01_naive", recorded / "02_coalesced")


@pytest.fixture(scope="session")
def slower_page(run_cli: RunCli, folder: Path) -> Path:
    changes = CAPTURES / "h200_changes"
    target = folder / "slower.html"
    return written(run_cli, target, changes / "tile" / "1", changes / "tile-barrier" / "1")


@pytest.fixture(scope="session")
def many(run_cli: RunCli, folder: Path) -> Path:
    """Eleven kernels against themselves without those of the first name."""
    with SERIES.open(encoding="utf-8", newline="") as file:
        header, units, *launches = csv.reader(file)
    name = header.index("Kernel Name")
    less = folder / "less.csv"
    with less.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([header, units])
        writer.writerows(each for each in launches if each[name] != launches[0][name])
    return written(run_cli, folder / "many.html", SERIES, less)


@pytest.fixture(scope="session")
def hostile(folder: Path) -> Path:
    """Every text of the comparison is markup."""
    target = folder / "hostile.html"
    kernels = [slower(HOSTILE, HOSTILE), slower("second", diff=f"@@ -1 +1 @@\n-{HOSTILE}\n+a")]
    page = html.write(document(comparison(*kernels, before=HOSTILE, notes=(HOSTILE,)), Detail.FULL))
    target.write_text(page, encoding="utf-8")
    return target


@pytest.fixture(scope="session")
def machines(folder: Path) -> Path:
    """The same kernel on two GPUs, with other sizes and another source: nothing is comparable."""
    before, after = taken("tile", "1"), taken("tile-rolled", "1")
    after = replace(after, machine=structs.replace(after.machine, gpu="NVIDIA B200"))
    kernel = after.kernels[0]
    assert kernel.inputs is not None
    specification = {**(kernel.inputs.specification or {}), "sizes": {"M": 8, "N": 8, "K": 8}}
    inputs = replace(kernel.inputs, specification=specification)
    after = replace(after, kernels=(replace(kernel, inputs=inputs),))
    found = compare(before, after)
    target = folder / "machines.html"
    target.write_text(html.write(document(found, Detail.FULL)), encoding="utf-8")
    return target


def page_named(request: pytest.FixtureRequest, name: str) -> Path:
    found = request.getfixturevalue("slower_page" if name == "slower" else name)
    assert isinstance(found, Path)
    return found


def texts(page: Page, chart: str) -> list[str]:
    found: list[str] = page.evaluate(
        """(chart) => [...document.querySelectorAll(`[data-chart^="${chart}"] svg text`)]
            .map((text) => text.textContent)""",
        chart,
    )
    return found


def names(page: Page) -> list[str]:
    return page.locator("#kernels tbody tr td:first-child").all_inner_texts()


# Charts


@pytest.mark.parametrize("dark", LIGHT_FIRST)
def test_every_chart_of_a_kernel_is_drawn(faster: Path, look_at: OpenPage, dark: bool):
    page = look_at(faster, dark=dark)
    assert charts(page) == {"waterfall", "launches", "roofline", "states"}
    assert undrawn_charts(page) == []
    assert page.locator(".scroll > table:not(.sortable) td.bars .fill").count() == 10 + 10
    screenshot(page, f"comparison-{'dark' if dark else 'light'}")


@pytest.mark.parametrize("name", ["faster", "slower"])
def test_the_causes_add_up_to_no_more_than_the_change(
    request: pytest.FixtureRequest, look_at: OpenPage, name: str
):
    page = look_at(page_named(request, name))
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


@pytest.mark.parametrize("width", few([1280, 390], 390, why=AGAIN))
@pytest.mark.parametrize("name", few(["faster", "slower"], "slower", why=AGAIN))
def test_the_way_on_the_roofline_can_be_read(
    request: pytest.FixtureRequest, look_at: OpenPage, name: str, width: int
):
    page = look_at(page_named(request, name), width=width)
    assert undrawn_charts(page) == []
    points = page.locator("[data-chart=roofline] svg.symbol title:text-matches('FLOP per byte')")
    assert points.count() >= 2 * 3


def test_the_overview_has_a_mark_a_kernel(many: Path, look_at: OpenPage):
    page = look_at(many)
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
    rows = {
        cells[0]: cells[1:]
        for cells in top.locator("table tbody tr").evaluate_all(
            "rows => rows.map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"
        )
    }
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
    assert "times not comparable (another GPU" in top
    assert "kinds of change at once" in top
    assert "roofline" not in charts(page)
    assert "different limits" in page.locator("main").inner_text()
    sides = page.locator(".panel:has(h2:text-is('Where this comes from')) table")
    (gpu,) = (row for row in sides.locator("tr").all_inner_texts() if row.startswith("GPU\t"))
    assert "NVIDIA B200" in gpu


# Tables and cards


@pytest.mark.slow("the same of a page that is alike")
def test_the_table_sorts_and_filters(many: Path, open_page: OpenPage):
    page = open_page(many)
    heading = page.locator("#kernels th").nth(1)
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    first = names(page)
    heading.locator("button").click()
    assert names(page) == first[::-1]
    page.fill("#kernels input.filter", "tiled<32")
    assert page.locator("#kernels tbody tr").filter(visible=True).count() == 2
    assert page.locator("#kernels .shown").inner_text() == "2 of 11 shown"


@pytest.mark.slow("the same of a page that is alike")
def test_a_row_opens_its_card_by_mouse_and_by_keyboard(many: Path, open_page: OpenPage):
    page = open_page(many)
    page.click("#kernels a[href='#kernel-3']")
    card = page.locator("details#kernel-3[open]")
    card.locator("[data-chart]").first.wait_for()
    assert "launches:near" in charts(page, "#kernel-3")
    assert undrawn_charts(page, "#kernel-3") == []
    page.locator("#kernels a[href='#kernel-5']").focus()
    page.keyboard.press("Enter")
    page.locator("details#kernel-5[open] [data-chart]").first.wait_for()
    assert page.evaluate("document.activeElement.closest('details').id") == "kernel-5"


def test_what_is_on_one_side_only_is_listed(many: Path, look_at: OpenPage):
    page = look_at(many)
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


@pytest.mark.slow("the same of a page that is alike")
def test_the_json_is_inside_and_can_be_saved(
    faster: Path, open_page: OpenPage, run_cli: RunCli, tmp_path: Path
):
    page = open_page(faster)
    with page.expect_download() as download:
        page.click("a#download-json")
    assert download.value.suggested_filename == "comparison.json"
    download.value.save_as(tmp_path / "saved.json")
    saved = json.loads((tmp_path / "saved.json").read_text(encoding="utf-8"))
    recorded = FOLDER / "h200"
    run = run_cli(
        "compare", str(recorded / "01_naive"), str(recorded / "02_coalesced"), "--format", "json"
    )
    said = json.loads(run.stdout)
    assert {**saved, "before": "", "after": ""} == {**said, "before": "", "after": ""}
    assert (saved["before"], saved["after"]) == ("01_naive", "02_coalesced")


def test_text_of_strangers_stays_text(hostile: Path, open_page: OpenPage):
    page = open_page(hostile)
    assert page.title() == "Comparison: 2 kernels"
    for row in page.locator("#kernels a").all():
        row.click()
    page.locator("#kernel-2[open] table.diff").wait_for()
    assert undrawn_charts(page) == []
    assert page.locator("img").count() == 0
    assert page.locator("table.diff tr.removed code").last.inner_text() == HOSTILE
    assert page.title() == "Comparison: 2 kernels"


# Everybody can read it


@pytest.mark.parametrize("dark", DARK_FIRST)
@pytest.mark.parametrize("name", few(PAGES, "faster", "hostile", why=AGAIN))
def test_the_accessibility_checker_finds_nothing(
    request: pytest.FixtureRequest,
    open_page: OpenPage,
    axe_violations: AxeViolations,
    name: str,
    dark: bool,
):
    page = open_page(page_named(request, name), dark=dark, fragment="#kernel-1")
    page.locator("#kernel-1 [data-chart], #kernel-1 table").first.wait_for()
    assert undrawn_charts(page) == []
    assert axe_violations(page) == []


@pytest.mark.parametrize("name", few(PAGES, "many", "hostile", why=AGAIN))
def test_nothing_is_wider_than_a_phone(
    request: pytest.FixtureRequest, open_page: OpenPage, name: str
):
    page = open_page(page_named(request, name), width=390, fragment="#kernel-1")
    page.locator("#kernel-1 [data-chart], #kernel-1 table").first.wait_for()
    assert undrawn_charts(page) == []
    assert not has_horizontal_scroll(page)
    screenshot(page, f"phone-comparison-{name}")


def test_paper_has_the_whole_difference_and_no_controls(faster: Path, open_page: OpenPage):
    page = open_page(faster, dark=True)
    assert undrawn_charts(page) == []
    page.emulate_media(media="print")
    for control in ("button", "input", "a#download-json", "details:has(> .filtered)"):
        assert page.locator(control).filter(visible=True).count() == 0, control
    assert page.locator("table.diff tr").last.is_visible()
    box = "(() => { const {scrollHeight, clientHeight} = document.querySelector('.code'); "
    assert page.evaluate(f"{box} return scrollHeight <= clientHeight; }})()")
    ink = "getComputedStyle(document.querySelector('[data-chart] svg text.tick')).fill"
    assert page.evaluate(ink) == "rgb(26, 29, 33)"
    screenshot(page, "print-comparison")
