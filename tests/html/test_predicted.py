"""The page of a prediction: each access leads to its line, where stands what a request takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.html.support import DARK_FIRST, has_horizontal_scroll, screenshot, undrawn_charts

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from tests.conftest import RunCli
    from tests.html.conftest import AxeViolations, OpenPage

EXAMPLE = Path(__file__).parents[2] / "examples" / "matvec.cu"
LOOP, STORE = 55, 57
IS_SHOWN = f"""() => {{
    const line = document.getElementById("kernel-1-line-{LOOP}").getBoundingClientRect();
    const box = document.querySelector(".code:has(table.source)").getBoundingClientRect();
    return line.top >= box.top && line.bottom <= box.bottom;
}}"""


@pytest.fixture(scope="module")
def predicted(run_cli: RunCli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("predicted") / "page.html"
    run = run_cli("diagnose", str(EXAMPLE), "--predict", "--html", str(page))
    assert run.returncode in {0, 3}, run.stderr
    return page


def beside(page: Page, rows: str) -> dict[str, str]:
    """What stands beside these lines of the source."""
    found: dict[str, str] = page.evaluate(
        """(rows) => Object.fromEntries([...document.querySelectorAll(`table.source ${rows}`)]
            .map((row) => [row.cells[1].innerText.trim(), row.cells[0].innerText.trim()]))""",
        rows,
    )
    return found


@pytest.mark.parametrize("dark", DARK_FIRST)
def test_an_access_leads_to_its_line(predicted: Path, open_page: OpenPage, dark: bool) -> None:
    page = open_page(predicted, dark=dark)
    assert beside(page, "tr.hot") == {f"{LOOP}": "32 sectors (4), 1 sector"}
    assert beside(page, "tr[id]") == {
        f"{LOOP}": "32 sectors (4), 1 sector",
        f"{STORE}": "4 sectors",
    }
    assert page.evaluate(IS_SHOWN)
    page.evaluate("document.querySelector('.code:has(table.source)').scrollTop = 0")
    assert not page.evaluate(IS_SHOWN)
    page.locator(f"a[href='#kernel-1-line-{LOOP}']").first.click()
    page.wait_for_function(IS_SHOWN)
    screenshot(page, f"predicted-{'dark' if dark else 'light'}")


def test_the_bar_is_as_long_as_what_is_needless(predicted: Path, look_at: OpenPage) -> None:
    page = look_at(predicted)
    lengths: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("table.source .hot > .part")]
            .map((cell) => getComputedStyle(cell).backgroundSize.split(" ")[0])"""
    )
    assert lengths == ["87.5%"]
    assert undrawn_charts(page) == []


def test_it_fits_a_phone_and_paper(predicted: Path, open_page: OpenPage) -> None:
    page = open_page(predicted, width=390)
    assert not has_horizontal_scroll(page)
    screenshot(page, "predicted-phone")
    page.emulate_media(media="print")
    assert f"{LOOP}" in beside(page, "tr.hot")


def test_the_accessibility_checker_finds_nothing(
    predicted: Path, open_page: OpenPage, axe_violations: AxeViolations
) -> None:
    page = open_page(predicted)
    assert axe_violations(page) == []
    page.click("button#theme")
    assert axe_violations(page, rules=["color-contrast", "link-in-text-block"]) == []
