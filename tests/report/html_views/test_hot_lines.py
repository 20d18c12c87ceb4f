"""The source on a page with the lines where warps spend their time."""

from __future__ import annotations

import gzip
import html
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.report.blocks import every, notes_of
from tests.report.html_views.helpers import page_of

from kernelprof.collect.recorded import FOLDER
from kernelprof.model.capture import line_shares
from kernelprof.report.document import CodeBlock, Paragraph, plain
from kernelprof.report.documents.source import hot_of, hottest_lines, marked_lines
from kernelprof.report.writers import html as writer
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_manifest
from kernelprof.sources.source_page import read_source_lines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.report.html_views.helpers import Page

    from kernelprof.report.document import Section

TILE = "/project/cuda/ladder/03_shared_tile.cu"


@pytest.fixture(scope="session")
def tile_hot(captures: Path) -> dict[str, dict[int, float]]:
    """Shares of the lines of the ladder's third rung, by kernel, as they were measured."""
    page = captures / "source_page" / "shared_tile.samples.csv.gz"
    with gzip.open(page, "rt", encoding="utf-8") as lines:
        return line_shares(read_source_lines(lines), TILE)


@pytest.fixture(scope="session")
def tile_text() -> str:
    from tests.report.html_views.conftest import ROOT

    return (ROOT / "cuda" / "ladder" / "03_shared_tile.cu").read_text(encoding="utf-8")


def _page(text: str | None, hot: Mapping[str, Mapping[int, float]] | None) -> Page:
    folder = FOLDER / "h200" / "03_shared_tile"
    known = {"manifest": read_manifest(folder), "source_text": text, "hot_lines": hot}
    return page_of(read_capture(folder), **known)


def _source(page: Page) -> Section:
    found = page.kernels[0].source
    assert found is not None
    return found


def _shares(source: Section) -> tuple[tuple[int, float], ...]:
    """The marked lines."""
    codes = [each for each in every(source.blocks) if isinstance(each, CodeBlock)]
    return tuple(share for each in codes for share in each.shares)


def _hottest(source: Section) -> list[str]:
    return [plain(each.text) for each in source.blocks if isinstance(each, Paragraph)]


def _note(source: Section) -> str:
    return " ".join(notes_of(source.blocks))


def _rows(text: str) -> list[tuple[str, str, str]]:
    """Share, number and code of each line of the source on a page; no share is an empty text."""
    table = text.partition('<table class="source">')[2].partition("</table>")[0]
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
    shares = _shares(source)
    assert [line for line, _ in shares] == [81, 82, 83, 88]
    assert dict(shares)[88] == pytest.approx(1_386_212 / 1_961_978)
    assert hottest_lines(shares) == [(88, pytest.approx(0.7065, abs=1e-4))]
    assert _hottest(source) == ["71 % of the samples are at line 88: sum += As[ty][k] * Bs[k][tx];"]
    assert _note(source).startswith("Lines with at least 1 % of the warp samples")


def test_the_page_has_a_gutter_and_each_marked_share_as_text(
    tile_text: str, tile_hot: dict[str, dict[int, float]]
) -> None:
    text = writer.write(_page(tile_text, tile_hot).document)
    rows = _rows(text)
    assert [number for _, number, _ in rows] == [
        str(number) for number in range(1, len(tile_text.splitlines()) + 1)
    ]
    assert [code for _, _, code in rows] == tile_text.splitlines()
    shares = {number: share for share, number, _ in rows if share}
    assert shares == {"81": "2.6 %", "82": "11 %", "83": "15 %", "88": "71 %"}
    assert (
        '71 % of the samples are at <a href="#kernel-1-line-88">line 88</a>: '
        "<code>sum += As[ty][k] * Bs[k][tx];</code>"
    ) in text
    assert text.count('id="kernel-1-line-88"') == 1
    assert "<h4><code>cuda/ladder/03_shared_tile.cu</code></h4>" in text
    assert '<td class="part" style="--share: 70.7%">71 %</td>' in text


def test_without_samples_the_note_says_how_to_get_them(tile_text: str) -> None:
    page = _page(tile_text, None)
    source = _source(page)
    assert (_shares(source), _hottest(source)) == ((), [])
    assert _note(source) == (
        "This capture has no samples by source line: `kernelprof profile --preset full` collects "
        "them."
    )
    text = writer.write(page.document)
    assert {share for share, _, _ in _rows(text)} == {""}
    assert '<th scope="col">Samples</th>' not in text
    assert "<details><summary><code>cuda/ladder/03_shared_tile.cu</code>" in text


@pytest.mark.parametrize(
    "hot", [{}, {"sgemm_shared_tile": {}}, {"sgemm_shared_tile": {88: 0.009, 5000: 0.9, 0: 0.1}}]
)
def test_samples_that_are_elsewhere_are_no_marks(
    tile_text: str, hot: dict[str, dict[int, float]]
) -> None:
    source = _source(_page(tile_text, hot))
    assert _shares(source) == ()
    assert _note(source).startswith("No line is marked")


def test_a_source_without_its_text_has_no_marks(tile_hot: dict[str, dict[int, float]]) -> None:
    source = _source(_page(None, tile_hot))
    assert not any(isinstance(each, CodeBlock) for each in every(source.blocks))
    assert (_shares(source), _hottest(source)) == ((), [])


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
    text = writer.write(page.document)
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    rows = _rows(text.replace("\x0c", ""))
    assert [code.rstrip("\r") for _, _, code in rows] == [
        each.rstrip("\r").replace("\x0c", "") for each in hostile
    ]
    assert [share for share, _, _ in rows] == ["30 %", "45 %", "25 %", "", "", ""]
    assert [each[:39] for each in _hottest(_source(page))] == [
        "45 % of the samples are at line 2: </co",
        "30 % of the samples are at line 1: <scr",
    ]


def test_lines_are_of_the_kernel_of_the_card(captures: Path) -> None:
    capture = read_capture(captures / "fixture_full_preset.raw.csv.gz")
    manifest = read_manifest(FOLDER / "h200" / "03_shared_tile")
    assert manifest.source is not None
    specification = {"kernel": "strided"}
    manifest = replace(manifest, source=replace(manifest.source, specification=specification))
    hot = {"scale(float *, float, int)": {1: 1.0}, "strided(const float *)": {2: 0.9}}
    page = page_of(capture, manifest=manifest, source_text="a\nb\n", hot_lines=hot)
    found = {card.name: card.source for card in page.kernels}
    assert found["scale"] is None
    assert found["strided"] is not None
    assert _shares(found["strided"]) == ((2, 0.9),)


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
    many = dict.fromkeys(range(1, 9), 0.125)
    assert [line for line, _ in hottest_lines(marked_lines(many, 8))] == [1, 2, 3]
    two = {2: 0.2, 5: 0.35, 7: 0.34}
    assert [line for line, _ in hottest_lines(marked_lines(two, 8))] == [5, 7]
    assert hottest_lines(()) == []
    (long,) = _hottest(_source(_page("x" * 500, {"sgemm_shared_tile": {1: 0.9}})))
    assert long.endswith(" line 1: " + "x" * 39 + "…" + "x" * 40) or len(long) < 130
