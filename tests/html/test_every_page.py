"""Everybody can read every page: in both themes, on a phone, on paper, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.corpus.results import to_json
from tests.benchmarks.corpus.samples import card
from tests.comparison.history.samples import eventful
from tests.html.support import (
    CORPUS_HALVES,
    FULL,
    INK,
    RESULTS,
    has_horizontal_scroll,
    open_card,
    saved_json,
    screenshot,
    undrawn_charts,
)

from kernelprof.collect.recorded import FOLDER
from kernelprof.report.writers.json import write as write_json

if TYPE_CHECKING:
    from tests.conftest import RunCli
    from tests.html.conftest import AxeViolations, OpenPage

PageNamed = Callable[[str], Path]
COMPARED = ("faster", "slower_page", "many_compared", "hostile_compared", "machines")
CONTENT_OF_KERNEL = "#kernel-1 [data-chart], #kernel-1 table"
WHOLE = ("history:eventful", "history:alternating", "history:hostile", "corpus")
"""Pages that have everything open."""


@pytest.mark.parametrize(
    "opened",
    [
        *((name, "", "main") for name in ("single", "unsettled", "many", "predicted", *WHOLE)),
        *((name, "#kernel-1", CONTENT_OF_KERNEL) for name in COMPARED),
        *((name, "#rung-1", "#rung-1[open]") for name in ("ladder", "failed")),
    ],
)
def test_the_accessibility_checker_finds_nothing(
    page_named: PageNamed,
    open_page: OpenPage,
    axe_violations: AxeViolations,
    opened: tuple[str, str, str],
    dark: bool,
):
    name, fragment, content = opened
    page = open_page(page_named(name), dark=dark, fragment=fragment)
    page.locator(content).first.wait_for()
    assert undrawn_charts(page) == []
    assert axe_violations(page) == []


@pytest.mark.parametrize(
    "opened",
    [
        *((name, "", "main") for name in ("single", "predicted", *WHOLE)),
        *((name, "", "") for name in ("four", "unsettled", "hostile", "many")),
        *((name, "#kernel-1", CONTENT_OF_KERNEL) for name in COMPARED),
        *((name, "#rung-2", "#rung-2[open]") for name in ("ladder", "failed")),
    ],
)
def test_nothing_is_wider_than_a_phone(
    page_named: PageNamed, open_page: OpenPage, opened: tuple[str, str, str]
):
    """Without a ``content`` the first kernel of the table is opened."""
    name, fragment, content = opened
    page = open_page(page_named(name), width=390, fragment=fragment)
    if content:
        page.locator(content).first.wait_for()
        assert undrawn_charts(page) == []
    else:
        assert undrawn_charts(page, open_card(page, 0)) == []
    assert not has_horizontal_scroll(page)
    screenshot(page, f"phone-{name}")


@pytest.mark.parametrize("name", ["single", "four", "unsettled", "faster", "ladder"])
def test_paper_has_headings_and_no_controls(page_named: PageNamed, open_page: OpenPage, name: str):
    page = open_page(page_named(name), dark=True)
    assert undrawn_charts(page) == []
    page.emulate_media(media="print")
    for control in ("button", "input", "a#download-json", "details:has(> .filtered)"):
        assert page.locator(control).filter(visible=True).count() == 0, control
    assert page.locator("h2").filter(visible=True).count() > 0
    red, green, blue = page.evaluate(
        """() => getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g)
            .slice(0, 3).map(Number)"""
    )
    transparent = page.evaluate("getComputedStyle(document.body).backgroundColor").endswith(", 0)")
    assert transparent or min(red, green, blue) > 240
    assert undrawn_charts(page) == []
    screenshot(page, f"print-{name}")


@pytest.mark.parametrize("name", ["faster", "ladder"])
def test_paper_has_black_ink(page_named: PageNamed, open_page: OpenPage, name: str):
    page = open_page(page_named(name), dark=True)
    page.emulate_media(media="print")
    assert page.evaluate(INK) == "rgb(26, 29, 33)"


SAVED: dict[str, tuple[str, Callable[[], str]]] = {
    "history:eventful": ("history.json", lambda: write_json(eventful())),
    "ladder": ("results.json", lambda: RESULTS.read_text(encoding="utf-8")),
    "corpus": ("corpus.json", lambda: to_json(card(halves=CORPUS_HALVES))),
}


@pytest.mark.parametrize("name", SAVED)
def test_the_result_can_be_saved(
    page_named: PageNamed, open_page: OpenPage, tmp_path: Path, name: str
):
    file, expected = SAVED[name]
    saved = saved_json(open_page(page_named(name)), file, tmp_path)
    assert json.loads(saved) == json.loads(expected())
    assert name != "ladder" or saved == expected()


def test_a_comparison_can_be_saved(
    faster: Path, open_page: OpenPage, run_cli: RunCli, tmp_path: Path
):
    saved = json.loads(saved_json(open_page(faster), "comparison.json", tmp_path))
    sides = [str(FOLDER / "h200" / name) for name in ("01_naive", "02_coalesced")]
    printed = json.loads(run_cli("compare", *sides, "--format", "json").stdout)
    assert {**saved, "before": "", "after": ""} == {**printed, "before": "", "after": ""}
    assert (saved["before"], saved["after"]) == ("01_naive", "02_coalesced")


def test_a_diagnosis_is_inside_and_can_be_saved(
    four: Path, open_page: OpenPage, run_cli: RunCli, tmp_path: Path
):
    page = open_page(four)
    embedded = json.loads(page.evaluate("document.getElementById('data').textContent"))
    expected = json.loads(run_cli("diagnose", str(FULL), "--format", "json").stdout)
    for kernel in expected["kernels"]:
        assert kernel["origin"] == str(FULL)
        kernel["origin"] = FULL.name
    assert embedded["kernels"] == expected["kernels"]
    assert json.loads(saved_json(page, "diagnosis.json", tmp_path)) == embedded
