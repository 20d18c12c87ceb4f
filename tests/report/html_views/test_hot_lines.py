"""The source on a page with the lines where warps spend their time."""

from __future__ import annotations

import gzip
import html
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kernelprof.analysis.verdict import diagnose
from kernelprof.collect.recorded import FOLDER
from kernelprof.model.capture import shares
from kernelprof.report.html.build import build_page
from kernelprof.report.html.build.lines import hot_of, hottest, marked
from kernelprof.report.html.page import render_page
from kernelprof.report.html.view import HotLine
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_manifest
from kernelprof.sources.ncu_report import read_source_page

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kernelprof.report.html.view import Page, SourceText

TILE = "/project/cuda/ladder/03_shared_tile.cu"


@pytest.fixture(scope="session")
def tile_hot(captures: Path) -> dict[str, dict[int, float]]:
    """Shares of the lines of the ladder's third rung, by kernel, as they were measured."""
    page = captures / "source_page" / "shared_tile.samples.csv.gz"
    with gzip.open(page, "rt", encoding="utf-8") as lines:
        return shares(read_source_page(lines), TILE)


@pytest.fixture(scope="session")
def tile_text() -> str:
    from tests.report.html_views.conftest import ROOT

    return (ROOT / "cuda" / "ladder" / "03_shared_tile.cu").read_text(encoding="utf-8")


def _page(text: str | None, hot: Mapping[str, Mapping[int, float]] | None) -> Page:
    folder = FOLDER / "h200" / "03_shared_tile"
    capture = read_capture(folder)
    return build_page(
        capture,
        diagnose(capture),
        manifest=read_manifest(folder),
        source_text=text,
        hot_lines=hot,
    )


def _source(page: Page) -> SourceText:
    found = page.kernels[0].source
    assert found is not None
    return found


def _rows(text: str) -> list[tuple[str, str, str]]:
    """Share, number and code of each line of the source on a page; no share is an empty text."""
    table = text[text.index('<table class="source">') : text.index("</table></div></details>")]
    rows = re.findall(
        r'<tr[^>]*>(?:<td class="part"[^>]*>(.*?)</td>)?'
        r'<td class="no">(\d+)</td><td><code>(.*?)</code></td></tr>',
        table,
    )
    return [(share, number, html.unescape(code)) for share, number, code in rows]


def test_lines_with_a_percent_of_the_samples_are_marked(
    tile_text: str, tile_hot: dict[str, dict[int, float]]
) -> None:
    source = _source(_page(tile_text, tile_hot))
    assert [line for line, _ in source.hot] == [81, 82, 83, 88]
    assert dict(source.hot)[88] == pytest.approx(1_386_212 / 1_961_978)
    assert source.hottest == (
        HotLine(88, pytest.approx(0.7065, abs=1e-4), "sum += As[ty][k] * Bs[k][tx];"),
    )
    assert source.note.startswith("Warps were sampled while the kernel ran; lines with at least")


def test_the_page_has_a_gutter_and_each_marked_share_as_text(
    tile_text: str, tile_hot: dict[str, dict[int, float]]
) -> None:
    text = render_page(_page(tile_text, tile_hot))
    rows = _rows(text)
    assert [number for _, number, _ in rows] == [
        str(number) for number in range(1, len(tile_text.splitlines()) + 1)
    ]
    assert [code for _, _, code in rows] == tile_text.splitlines()
    assert [(number, share) for share, number, _ in rows if share] == [
        ("81", "2.6 %"),
        ("82", "11 %"),
        ("83", "15 %"),
        ("88", "71 %"),
    ]
    assert (
        '71 % of the samples are at <a href="#kernel-1-line-88">line 88</a>: '
        "<code>sum += As[ty][k] * Bs[k][tx];</code>"
    ) in text
    assert text.count('id="kernel-1-line-88"') == 1
    assert re.search(r"<details open><summary>cuda/ladder/03_shared_tile\.cu", text)
    assert '<td class="part" style="--share: 70.7%">71 %</td>' in text


def test_without_samples_the_note_says_how_to_get_them(tile_text: str) -> None:
    page = _page(tile_text, None)
    source = _source(page)
    assert (source.hot, source.hottest) == ((), ())
    assert source.note == (
        "This capture has no samples by source line, so no line is marked: kernelprof profile "
        "--preset full takes them."
    )
    text = render_page(page)
    assert {share for share, _, _ in _rows(text)} == {""}
    assert '<th scope="col">Samples</th>' not in text
    assert "<details><summary>cuda/ladder/03_shared_tile.cu" in text


@pytest.mark.parametrize(
    "hot", [{}, {"sgemm_shared_tile": {}}, {"sgemm_shared_tile": {88: 0.009, 5000: 0.9, 0: 0.1}}]
)
def test_samples_that_are_elsewhere_are_no_marks(
    tile_text: str, hot: dict[str, dict[int, float]]
) -> None:
    source = _source(_page(tile_text, hot))
    assert source.hot == ()
    assert source.note.startswith("No line is marked")


def test_a_source_without_its_text_has_no_marks(tile_hot: dict[str, dict[int, float]]) -> None:
    source = _source(_page(None, tile_hot))
    assert (source.text, source.hot, source.hottest) == (None, (), ())


def test_a_hostile_source_stays_text() -> None:
    hostile = [
        "<script>alert(1)</script>",
        "</code></td></table></details><img src=x onerror=alert(1)>",
        "{{ 7 * 7 }} &lt;b&gt; \"'",
        "\tint a;\x0c // a form feed is no line",
        "",
        "}\r",
    ]
    hot = {"sgemm_shared_tile": {1: 0.3, 2: 0.45, 3: 0.25}}
    page = _page("\n".join(hostile) + "\n", hot)
    text = render_page(page)
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    rows = _rows(text.replace("\x0c", ""))
    assert [code.rstrip("\r") for _, _, code in rows] == [
        each.rstrip("\r").replace("\x0c", "") for each in hostile
    ]
    assert [share for share, _, _ in rows] == ["30 %", "45 %", "25 %", "", "", ""]
    assert [each.line for each in _source(page).hottest] == [2, 1]


def test_lines_are_of_the_kernel_of_the_card(captures: Path) -> None:
    capture = read_capture(captures / "fixture_full_preset.raw.csv.gz")
    manifest = read_manifest(FOLDER / "h200" / "03_shared_tile")
    assert manifest.source is not None
    specification = {"kernel": "strided"}
    manifest = replace(manifest, source=replace(manifest.source, specification=specification))
    hot = {"scale(float *, float, int)": {1: 1.0}, "strided(const float *)": {2: 0.9}}
    page = build_page(
        capture, diagnose(capture), manifest=manifest, source_text="a\nb\n", hot_lines=hot
    )
    found = {card.name: card.source for card in page.kernels}
    assert found["scale"] is None
    assert found["strided"] is not None
    assert found["strided"].hot == ((2, 0.9),)


def test_a_kernel_is_found_under_other_forms_of_its_name() -> None:
    tiles = {
        "void k<(int)16, (bool)1>(float *)": {1: 0.5},
        "void k<(int)32, (bool)1>(float *)": {2: 0.5},
        "ns::m(int)": {3: 0.5},
    }
    assert hot_of("void k<16, 1>(float *)", tiles) == {1: 0.5}
    assert hot_of("void k<32, 1>(float *)", tiles) == {2: 0.5}
    assert hot_of("m(int, float)", tiles) == {3: 0.5}
    assert hot_of("void k<64, 1>(float *)", tiles) == {}
    assert hot_of("other", tiles) == {}
    assert hot_of("other", None) is None


def test_the_lines_with_half_of_the_samples_are_told() -> None:
    text = [f"  line {number};" for number in range(1, 9)]
    many = dict.fromkeys(range(1, 9), 0.125)
    assert [each.line for each in hottest(marked(many, 8), text)] == [1, 2, 3]
    two = {2: 0.2, 5: 0.35, 7: 0.34}
    assert [(each.line, each.text) for each in hottest(marked(two, 8), text)] == [
        (5, "line 5;"),
        (7, "line 7;"),
    ]
    assert hottest((), text) == ()
    (long,) = hottest(((1, 0.9),), ["x" * 500])
    assert len(long.text) == 80
