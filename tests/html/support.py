"""Questions to an open page, and pages and captures to ask them of."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.corpus.halves import Halves

if TYPE_CHECKING:
    from playwright.sync_api import FloatRect, Locator, Page

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "tests" / "captures"
FULL = CAPTURES / "four_gemms.full.raw.csv"
RESULTS = ROOT / "reports" / "ladder-h200.json"
CORPUS_HALVES = Halves(draws=200, chosen_on=(950, 1000), scored_on=(920, 1000), least=0.8, most=1.0)
KINDS = {"roofline", "memory", "shares:warps", "shares:pipes", "occupancy", "shares:instructions"}
INK = "getComputedStyle(document.querySelector('[data-chart] svg text.tick')).fill"
CELLS = "rows => rows.map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"
BAR_LENGTHS = """() => [...document.querySelectorAll("table.source .hot > .part")]
    .map((cell) => getComputedStyle(cell).backgroundSize.split(" ")[0])"""


def cells_of(rows: Locator) -> list[list[str]]:
    """The texts of the cells of each row."""
    cells: list[list[str]] = rows.evaluate_all(CELLS)
    return cells


def box_of(locator: Locator) -> FloatRect:
    """Where an element is that can be seen."""
    box = locator.bounding_box()
    assert box is not None
    return box


def beside_lines(page: Page, rows: str) -> dict[str, str]:
    """What stands beside these lines of the source, by their number."""
    texts: dict[str, str] = page.evaluate(
        """(rows) => Object.fromEntries([...document.querySelectorAll(`table.source ${rows}`)]
            .map((row) => [row.cells[1].innerText.trim(), row.cells[0].innerText.trim()]))""",
        rows,
    )
    return texts


def line_is_shown(line: str) -> str:
    """A script that says whether a line is in the part of its listing that can be seen."""
    return f"""() => {{
        const line = document.getElementById("{line}").getBoundingClientRect();
        const box = document.querySelector(".code:has(table.source)").getBoundingClientRect();
        return line.top >= box.top && line.bottom <= box.bottom;
    }}"""


def saved_json(page: Page, name: str, folder: Path) -> str:
    """The text of the file that the page offers under this name."""
    with page.expect_download() as download:
        page.click("a#download-json")
    assert download.value.suggested_filename == name
    download.value.save_as(folder / name)
    return (folder / name).read_text(encoding="utf-8")


def has_horizontal_scroll(page: Page) -> bool:
    return bool(
        page.evaluate(
            """() => {
                const root = document.documentElement;
                return Math.max(root.scrollWidth, document.body.scrollWidth) > root.clientWidth;
            }"""
        )
    )


UNDRAWN = """(within) => {
    const marks = `svg :is(path, rect, circle, line:not(.grid, .base)), .fill, .cell, .link`;
    const isMark = (shape) => {
        const {width, height} = shape.getBoundingClientRect();
        return width > 0 || height > 0;
    };
    const isDrawn = (chart) => [...chart.querySelectorAll(marks)].some(isMark);
    return [...document.querySelectorAll(`${within} [data-chart]`)]
        .filter((chart) => chart.checkVisibility() && !isDrawn(chart))
        .map((chart) => [chart.closest("section[id]")?.id, chart.dataset.chart]
            .filter(Boolean).join(" "));
}"""


def charts(page: Page, within: str = "body") -> set[str]:
    """The kinds of charts that can be seen now."""
    return set(
        page.evaluate(
            """(within) => [...document.querySelectorAll(`${within} [data-chart]`)]
                .filter((chart) => chart.checkVisibility()).map((chart) => chart.dataset.chart)""",
            within,
        )
    )


def undrawn_charts(page: Page, within: str = "body") -> list[str]:
    """The visible charts that are empty; axes without a mark count as empty."""
    left: list[str] = page.evaluate(UNDRAWN, within)
    return left


def screenshot(page: Page, name: str) -> None:
    """Keep a picture for people, where ``KERNELPROF_SCREENSHOTS`` names a folder."""
    folder = os.environ.get("KERNELPROF_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def repeated(names: list[str], target: Path, source: Path = FULL) -> Path:
    """A capture with one launch for each name; all values are those of real launches."""
    with source.open(encoding="utf-8", newline="") as file:
        header, units, *launches = csv.reader(file)
    name, number = header.index("Kernel Name"), header.index("ID")
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(header)
        writer.writerow(units)
        for index, kernel in enumerate(names):
            row = list(launches[index % len(launches)])
            row[name], row[number] = kernel, str(index)
            writer.writerow(row)
    return target


def open_card(page: Page, number: int) -> str:
    """Follow the table's link to a kernel; the card's selector."""
    link = page.locator("#kernels tbody a").nth(number)
    card = link.get_attribute("href")
    assert card is not None
    link.click()
    page.locator(f"section.kernel{card} .hero").wait_for()
    return card
