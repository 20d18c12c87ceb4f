"""A result in a notebook looks the same whatever the styles of the notebook are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.html.support import CAPTURES

import kernelprof as kp

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page
    from tests.html.conftest import OpenPage

HOST = """
div, p { margin: 1em; line-height: 2; position: static !important }
svg text { font-size: 30px } svg { width: 50px }
table { display: block } table td { max-width: 40px; text-align: right }
.fill, .bar, .cell, .grid, .number { display: inline; height: 40px; position: static !important }
li { position: static !important; width: 10px !important }
"""
BOXES = """() => [...document.querySelectorAll("body *")].map((each) => {
    const {x, y, width, height} = each.getBoundingClientRect();
    return [each.tagName, x, y, width, height];
})"""
OVERLAPS = """() => {
    const cells = [...document.querySelectorAll(".cell")];
    const boxes = cells.map((each) => each.getBoundingClientRect());
    return boxes.flatMap((a, at) => boxes.slice(at + 1).filter((b) =>
        a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1
    )).length;
}"""


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook's output with the diagnosis of several kernels, without styles around it."""
    shown = kp.read(CAPTURES / "gemm_series.full.raw.csv").diagnose(kernel="gemm_")
    target = tmp_path_factory.mktemp("notebook") / "plain.html"
    body = f"<body style='margin: 0'>{shown._repr_html_()}"
    target.write_text(f"<!doctype html>{body}", encoding="utf-8")
    target.with_name("host.html").write_text(
        f"<!doctype html><style>{HOST}</style>{body}", encoding="utf-8"
    )
    return target


def ask(page: Page, question: str) -> Any:
    """The answer of the page in the frame."""
    return page.frames[1].evaluate(question)


def test_styles_of_the_notebook_do_not_reach_it(cell: Path, open_page: OpenPage) -> None:
    boxes = [
        ask(open_page(page, width=1000), BOXES) for page in (cell, cell.with_name("host.html"))
    ]
    assert len(boxes[0]) > 200
    assert boxes[0] == boxes[1]


def test_areas_of_its_map_do_not_overlap(cell: Path, open_page: OpenPage) -> None:
    page = open_page(cell, width=1000)
    assert ask(page, "document.querySelectorAll('.cell').length") == 11
    assert ask(page, OVERLAPS) == 0
