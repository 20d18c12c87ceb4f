"""The source with its hot lines: seen by everybody, on every screen and on paper."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.html.support import (
    BAR_LENGTHS,
    ROOT,
    beside_lines,
    has_horizontal_scroll,
    line_is_shown,
    screenshot,
)

from kernelprof.collect.recorded import FOLDER
from kernelprof.collect.run import lines_to_csv
from kernelprof.collect.store import CaptureDraft
from kernelprof.model.capture import SampledLine
from kernelprof.model.records import to_json
from kernelprof.sources.capture_directory import read_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.html.conftest import AxeViolations, OpenPage, Report

RUNG = ROOT / "cuda" / "ladder" / "03_shared_tile.cu"
HOSTILE = """\
<script>document.title = 'gone'</script>
</code></td></table></details><img src=x onerror="document.title = 'gone'">
\tint wide = {wide};
{{{{ 7 * 7 }}}}
}}
"""
IS_SHOWN = line_is_shown("kernel-1-line-88")
SAMPLES = {81: 30, 82: 110, 83: 150, 84: 3, 88: 707}


def _capture(folder: Path, text: str, samples: dict[int, int]) -> Path:
    """The recorded capture of a rung, with another source and with samples at its lines."""
    shutil.copytree(FOLDER / "h200" / "03_shared_tile", folder)
    manifest = read_manifest(folder)
    assert manifest.source is not None
    path = manifest.source.path
    data = lines_to_csv(SampledLine(path, "sgemm_shared_tile", *each) for each in samples.items())
    name, digest = CaptureDraft(folder, folder, replaces=False).store("lines", 0, data)
    run = replace(manifest.runs[0], lines=name, lines_sha256=digest)
    source = replace(manifest.source, sha256=hashlib.sha256(text.encode()).hexdigest())
    (folder / "source.cu").write_text(text, encoding="utf-8")
    changed = replace(manifest, runs=(run,), source=source)
    (folder / "manifest.json").write_text(to_json(changed), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def hot(tmp_path_factory: pytest.TempPathFactory, report: Report) -> Path:
    folder = tmp_path_factory.mktemp("hot") / "capture"
    return report(_capture(folder, RUNG.read_text(encoding="utf-8"), SAMPLES))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, report: Report) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "capture"
    text = HOSTILE.format(wide=" + ".join(["a_long_name"] * 100))
    return report(_capture(folder, text, {1: 40, 2: 35, 3: 25}))


def test_marked_lines_can_be_seen_and_reached(hot: Path, open_page: OpenPage, dark: bool):
    page = open_page(hot, dark=dark)
    assert beside_lines(page, "tr.hot") == {"81": "3.0 %", "82": "11 %", "83": "15 %", "88": "71 %"}
    told = page.locator(".panel:has(table.source) > p.strong")
    assert told.all_inner_texts() == [
        "71 % of the samples are at line 88: sum += As[ty][k] * Bs[k][tx];"
    ]
    rows = page.locator("table.source tbody tr")
    assert rows.count() == len(RUNG.read_text(encoding="utf-8").splitlines())
    assert rows.nth(87).locator("code").text_content() == " " * 12 + (
        "sum += As[ty][k] * Bs[k][tx];"
    )
    assert page.evaluate(IS_SHOWN)
    page.evaluate("document.querySelector('.code').scrollTop = 0")
    assert not page.evaluate(IS_SHOWN)
    told.locator("a").click()
    page.wait_for_function(IS_SHOWN)
    screenshot(page, f"hot-lines-{'dark' if dark else 'light'}")


def test_bars_are_as_long_as_the_shares(hot: Path, look_at: OpenPage):
    page = look_at(hot)
    assert page.evaluate(BAR_LENGTHS) == ["3%", "11%", "15%", "70.7%"]


def test_a_hostile_source_stays_text(hostile: Path, open_page: OpenPage):
    page = open_page(hostile)
    page.wait_for_timeout(100)
    assert page.title() != "gone"
    assert page.locator("img").count() == 0
    assert beside_lines(page, "tr.hot") == {"1": "40 %", "2": "35 %", "3": "25 %"}
    shown = page.locator("table.source code").all_text_contents()
    assert shown[0] == "<script>document.title = 'gone'</script>"
    assert shown[3] == "{{ 7 * 7 }}"
    assert len(shown) == 5


@pytest.mark.parametrize("name", ["hot", "hostile"])
def test_no_line_is_wider_than_a_phone(
    request: pytest.FixtureRequest, open_page: OpenPage, name: str
):
    page = open_page(request.getfixturevalue(name), width=390)
    assert page.locator("table.source").is_visible()
    assert not has_horizontal_scroll(page)
    screenshot(page, f"hot-lines-phone-{name}")


def test_paper_shows_every_line_and_each_share(hot: Path, open_page: OpenPage):
    page = open_page(hot, dark=True)
    page.emulate_media(media="print")
    assert list(beside_lines(page, "tr.hot").values()) == ["3.0 %", "11 %", "15 %", "71 %"]
    cut = "(box) => box.scrollHeight - box.clientHeight"
    assert page.locator(".code").first.evaluate(cut) <= 1
    screenshot(page, "hot-lines-print")


def test_the_accessibility_checker_finds_nothing(
    hot: Path, open_page: OpenPage, axe_violations: AxeViolations
):
    page = open_page(hot)
    panel = ".panel:has(table.source)"
    assert axe_violations(page, panel) == []
    page.click("button#theme")
    assert axe_violations(page, panel, rules=["color-contrast", "link-in-text-block"]) == []
