"""Questions to an open page, and pages and captures to ask them of."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

CAPTURES = Path(__file__).parents[1] / "captures"
FULL = CAPTURES / "four_gemms.full.raw.csv"
AGAIN = "the same in other colours, at another width or of a page that is alike"
_SLOW = pytest.mark.slow(AGAIN)
LIGHT_FIRST = [pytest.param(False, id="light"), pytest.param(True, id="dark", marks=_SLOW)]
DARK_FIRST = [pytest.param(False, id="light", marks=_SLOW), pytest.param(True, id="dark")]
"""Whether a page is dark: all pages have one palette, so `make test` looks at each in one way."""


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
