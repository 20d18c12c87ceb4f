"""The ladder's document against the results of the climb that ships here, as the page shows it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.ladder.samples import CLIMB, COALESCED, NAIVE, TILE, timing
from tests.report.blocks import facts_of

from kernelprof.analysis.verdict import diagnose
from kernelprof.collect.recorded import FOLDER
from kernelprof.errors import ErrorFacts
from kernelprof.ladder.registry import find_ladder
from kernelprof.ladder.results import Climb, from_json
from kernelprof.model.numbers import share
from kernelprof.report.charts.bars import ClimbBar, ClimbLimit
from kernelprof.report.document import Cell, Chart, Document, Note, Section, Table, plain
from kernelprof.report.documents.capture_page import CaptureAttachments
from kernelprof.report.documents.ladder import document, headline
from kernelprof.report.documents.ladder_parts import Card, rung_card, way_up
from kernelprof.report.writers import html
from kernelprof.sources import read_capture

RESULTS = Path(__file__).parents[3] / "reports" / "ladder-h200.json"
WAY = [1, 2, 3, 8, 9, 10, 11, 12, 13]


@pytest.fixture(scope="module")
def raw() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def climb() -> Climb:
    return from_json(RESULTS.read_text(encoding="utf-8"), str(RESULTS))


@pytest.fixture(scope="module")
def page(climb: Climb) -> Document:
    return document(climb, find_ladder().rungs)


def gflops(timing: dict[str, Any]) -> float:
    """Two operations for each of 4096 times 4096 times 4096 products, by the median."""
    return float(2 * 4096**3 / timing["median_ns"])


def sections(page: Document) -> dict[str, Section]:
    return {plain(each.title): each for each in page.blocks if isinstance(each, Section)}


def rung_of(page: Document, number: int) -> Section:
    return next(each for each in sections(page).values() if each.anchor == f"rung-{number}")


def chart_of(page: Document, title: str) -> tuple[Any, ...]:
    (chart,) = sections(page)[title].blocks
    assert isinstance(chart, Chart)
    return chart.rows


def bars(page: Document) -> list[ClimbBar]:
    return [row for row in chart_of(page, "The climb") if isinstance(row, ClimbBar)]


def limits(page: Document) -> list[str]:
    return [row.text for row in chart_of(page, "The climb") if isinstance(row, ClimbLimit)]


def table_of(page: Document) -> list[dict[str, Cell]]:
    table = sections(page)["Time and verdict"].blocks[0]
    assert isinstance(table, Table)
    titles = [column.title for column in table.columns]
    return [dict(zip(titles, row, strict=True)) for row in table.rows]


def test_the_sentence_at_the_top(page: Document, raw: dict[str, Any]) -> None:
    slowest, fastest = (raw["rungs"][at]["timing"]["median_ns"] for at in (0, -1))
    ceiling = raw["ceiling"]["timing"]["median_ns"]
    assert page.title == "The GEMM ladder on NVIDIA H200"
    top = page.blocks[0]
    assert isinstance(top, Section)
    assert plain(top.title) == (
        f"From {slowest / 1e6:.1f} ms to {fastest / 1e6:.2f} ms over 13 rungs: "
        f"{100 * ceiling / fastest:.0f} % of cuBLAS."
    )
    assert plain(top.blocks[0].text) == (
        f"The fastest rung is {slowest / fastest:.0f}x as fast as the first. 9 of the rungs lead "
        "to the fastest; each changes one thing in the previous rung. The other 4 are variants "
        "for comparison."
    )
    facts = facts_of(top.blocks)
    assert facts["Problem"] == "FP32, M = N = K = 4096"
    rate = 2 * 4096**3 / fastest
    assert facts["Its rate"].startswith(f"{rate:,.0f} GFLOP/s, {rate / 669.0816:.0f} % of the FP32")
    assert facts["Its verdict"] == "fp32-throughput, at its limit"
    assert facts["cuBLAS"] == f"{ceiling / 1e6:.2f} ms, {2 * 4096**3 / ceiling:,.0f} GFLOP/s"


def test_every_rung_has_its_figures(page: Document, raw: dict[str, Any]) -> None:
    ceiling = gflops(raw["ceiling"]["timing"])
    for row, found in zip(table_of(page), raw["rungs"], strict=True):
        rate = gflops(found["timing"])
        number = int(found["file"][:2])
        assert row["time"].sort == found["timing"]["median_ns"]
        assert row["GFLOP/s"].sort == pytest.approx(rate)
        assert row["of cuBLAS"].sort == pytest.approx(rate / ceiling)
        facts = facts_of(rung_of(page, number).blocks)
        assert facts["Share of the FP32 peak"] == share(rate / 66_908.16)
        assert plain(row["verdict"].text) == found["full"]["said"]["bottleneck"]
        assert row["expected gain"].sort == found["full"]["said"]["gain"]
    times = [found["timing"]["median_ns"] for found in raw["rungs"]]
    third, timing = table_of(page)[2], raw["rungs"][2]["timing"]
    low, high = (timing[f"confidence_{end}_ns"] / 1e6 for end in ("low", "high"))
    assert third["time"].tip == f"95 % confidence: {low:.5g} to {high:.5g} ms"
    assert plain(third["next rung gained"].text) == ", ".join(
        f"{number}: {times[2] / times[number - 1]:.2f}x" for number in (4, 6, 7, 8)
    )
    assert plain(table_of(page)[12]["expected gain"].text) == "at limit"


def test_the_way_leads_from_the_first_rung_to_the_fastest(page: Document) -> None:
    assert [at for at, row in enumerate(bars(page), 1) if row.leads] == WAY


def test_what_a_rung_changes_comes_from_the_registry(page: Document) -> None:
    for rung in find_ladder().rungs:
        first = rung_of(page, rung.number).blocks[0]
        assert plain(first.text) == rung.changes


def points(page: Document) -> dict[str, Any]:
    return {row.title: row for row in chart_of(page, "Rungs on the roofline")}


def test_points_are_rates_over_the_bytes_of_device_memory(
    page: Document, raw: dict[str, Any]
) -> None:
    known = points(page)
    for row, found in zip(bars(page), raw["rungs"], strict=True):
        point = known[row.name]
        intensity = 2 * 4096**3 / found["traffic"]["dram"]
        assert point.flop_per_byte == pytest.approx(intensity, rel=1e-4)
        assert point.flop_per_second == pytest.approx(gflops(found["timing"]) * 1e9, rel=1e-4)
    ideal = known["ideal (minimum operations and bytes)"]
    assert ideal.flop_per_byte == pytest.approx(2 * 4096**3 / (3 * 4096**2 * 4), rel=1e-4)
    assert ideal.flop_per_second == pytest.approx(132 * 128 * 2 * 1.98e9, rel=1e-4)
    assert any(label.startswith("FP32 peak") for label in known)
    assert any(label.startswith("cuBLAS") for label in known)


@pytest.fixture(scope="module")
def naive(climb: Climb) -> Card:
    capture = read_capture(FOLDER / "h200" / "01_naive")
    return rung_card(capture, diagnose(capture), CaptureAttachments(), climb.rungs[0])


def test_memory_s_limit_and_the_card_come_from_a_capture(climb: Climb, naive: Card) -> None:
    assert naive.bandwidth is not None
    assert naive.bandwidth.value == pytest.approx(3_201_000e3 * 2 * 6016 / 8)
    page = document(climb, find_ladder().rungs, {"01_naive.cu": naive})
    assert any(label.startswith("DRAM") for label in points(page))
    placed = rung_of(page, 1).blocks[-1]
    assert isinstance(placed, Section)
    assert placed.anchor == "rung-1-kernel-1"
    assert "sgemm_naive" in html.write(page)


def test_the_chart_has_a_bar_a_rung_and_both_limits(page: Document, raw: dict[str, Any]) -> None:
    assert [row.name for row in bars(page)][:2] == ["1 Naive", "2 Coalesced"]
    for row, found in zip(bars(page), raw["rungs"], strict=True):
        assert row.rate == pytest.approx(gflops(found["timing"]), rel=1e-5)
    assert bars(page)[-1].text.endswith(": fp32-throughput, at its limit")
    ceiling = gflops(raw["ceiling"]["timing"])
    assert limits(page) == [f"cuBLAS {ceiling:,.0f}", "FP32 peak 66,908"]


def test_the_results_are_inside(page: Document) -> None:
    assert page.data == RESULTS.read_text(encoding="utf-8")
    assert page.file == "results.json"


def test_folders_of_users_are_left_out(climb: Climb) -> None:
    typed = replace(climb, command="kernelprof ladder run -o /home/ada/ladder.md")
    assert "/home/ada" not in html.write(document(typed))


def test_a_rung_that_failed() -> None:
    page = document(CLIMB, (), {"03_shared_tile.cu": Card(note="no capture")})
    rung = rung_of(page, 3)
    warning, _, note = rung.blocks
    assert isinstance(warning, Note)
    assert plain(warning.text) == (
        "failed: the result is wrong (03_shared_tile.cu: C, see the index)"
    )
    assert plain(note.text) == "no capture"
    assert plain(rung.summary) == "failed: the result is wrong"
    last = table_of(page)[2]
    shown = [plain(last[name].text) for name in ("verdict", "time", "GFLOP/s")]
    assert shown == ["failed", "-", "-"]
    assert headline(CLIMB) == "From 8 ms to 2 ms over 3 rungs: 50 % of cuBLAS."
    assert plain(page.blocks[0].blocks[0].text) == (
        "The fastest rung is 4.0x as fast as the first. 1 rung failed."
    )
    assert bars(page)[2].rate is None
    assert bars(page)[2].text == "failed: the result is wrong"


@pytest.mark.parametrize(
    ("climb", "sentence"),
    [
        (replace(CLIMB, ceiling=None), "From 8 ms to 2 ms over 3 rungs: 39 % of the FP32 peak."),
        (replace(CLIMB, rungs=(NAIVE,)), "Naive takes 8 ms: 12 % of cuBLAS."),
        (replace(CLIMB, rungs=(TILE,)), "No rung was timed."),
        (replace(CLIMB, rungs=()), "No rung was timed."),
    ],
)
def test_less_is_said_where_less_is_known(climb: Climb, sentence: str) -> None:
    assert headline(climb) == sentence
    assert f"{sentence}</h2>" in html.write(document(climb, find_ladder().rungs))


def test_without_cublas_its_reason_is_a_warning() -> None:
    climb = replace(
        CLIMB, ceiling=None, ceiling_error=ErrorFacts("cuBLAS was not measured: CuPy is not here")
    )
    page = document(climb)
    top = page.blocks[0]
    assert isinstance(top, Section)
    warning = top.blocks[-1]
    assert isinstance(warning, Note)
    assert warning.warning
    assert plain(warning.text) == "cuBLAS was not measured: CuPy is not here."
    assert limits(page) == ["FP32 peak 2,560"]


def test_a_circle_of_rungs_ends() -> None:
    """Results are files: somebody may have written anything into them."""
    first = replace(NAIVE, after="02_coalesced.cu", timing=timing(1e6))
    circle = replace(CLIMB, rungs=(first, COALESCED))
    assert way_up(circle) == {"01_naive.cu", "02_coalesced.cu"}
    assert all(row.leads for row in bars(document(circle)))
