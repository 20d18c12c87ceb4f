"""The ladder's page as plain values, against the results of the climb that ships here."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.ladder.samples import CLIMB, COALESCED, NAIVE, TILE, timing
from tests.report.html_views.conftest import ROOT

from kernelprof.ladder.registry import ladder
from kernelprof.ladder.results import Climb, Trouble, from_json
from kernelprof.report.html import charts
from kernelprof.report.html.ladder import LadderPage, RungView, build_ladder
from kernelprof.report.html.page import render_ladder

if TYPE_CHECKING:
    from kernelprof.report.html.view import Page, RooflinePoint

RESULTS = ROOT / "reports" / "ladder-h200.json"
WAY = [1, 2, 3, 8, 9, 10, 11, 12, 13]


@pytest.fixture(scope="module")
def raw() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def climb() -> Climb:
    return from_json(RESULTS.read_text(encoding="utf-8"), str(RESULTS))


@pytest.fixture(scope="module")
def page(climb: Climb) -> LadderPage:
    return build_ladder(climb, ladder(), {}, {})


def gflops(timing: dict[str, Any]) -> float:
    """Two operations for each of 4096 times 4096 times 4096 products, by the median."""
    return float(2 * 4096**3 / timing["median_ns"])


def rung_of(page: LadderPage, number: int) -> RungView:
    return next(rung for rung in page.rungs if rung.number == number)


def point_of(page: LadderPage, label: str) -> RooflinePoint:
    assert page.roofline is not None
    return next(each for each in page.roofline.points if each.label == label)


def test_the_sentence_at_the_top(page: LadderPage, raw: dict[str, Any]) -> None:
    slowest, fastest = (raw["rungs"][at]["timing"]["median_ns"] for at in (0, -1))
    ceiling = raw["ceiling"]["timing"]["median_ns"]
    assert page.title == "The GEMM ladder on NVIDIA H200"
    assert page.headline == (
        f"From {slowest / 1e6:.1f} ms to {fastest / 1e6:.2f} ms over 13 rungs: "
        f"{100 * ceiling / fastest:.0f} % of cuBLAS."
    )
    assert page.detail == (
        f"That is {slowest / fastest:.0f}x as fast. 9 of the rungs lead up, each changing one "
        "thing in the one before; the other 4 are variants to compare with."
    )
    facts = {fact.label: fact.text for fact in page.facts}
    assert facts["problem"] == "FP32, M = N = K = 4,096"
    rate = 2 * 4096**3 / fastest
    assert facts["its rate"].startswith(f"{rate:,.0f} GFLOP/s, {rate / 669.0816:.0f} % of the FP32")
    assert facts["its verdict"] == "fp32-throughput, at its limit"
    assert facts["cuBLAS"] == f"{ceiling / 1e6:.2f} ms, {2 * 4096**3 / ceiling:,.0f} GFLOP/s"


def test_every_rung_has_its_figures(page: LadderPage, raw: dict[str, Any]) -> None:
    ceiling = gflops(raw["ceiling"]["timing"])
    for view, found in zip(page.rungs, raw["rungs"], strict=True):
        time = found["timing"]["median_ns"]
        rate = gflops(found["timing"])
        assert view.time_ns == time
        assert view.gflops == pytest.approx(rate)
        assert view.of_ceiling == pytest.approx(rate / ceiling)
        assert view.of_peak == pytest.approx(rate / (132 * 128 * 2 * 1.98))
        said = found["full"]["said"]
        assert (view.verdict, view.status) == (said["bottleneck"], said["status"])
        assert view.gain_factor == said["gain"]
        assert view.error is None
    times = [found["timing"]["median_ns"] for found in raw["rungs"]]
    third, timing = rung_of(page, 3), raw["rungs"][2]["timing"]
    low, high = (timing[f"confidence_{end}_ns"] / 1e6 for end in ("low", "high"))
    assert third.interval == f"{low:.5g} to {high:.5g} ms"
    assert [(each.number, each.factor) for each in third.gained] == [
        (number, f"{times[2] / times[number - 1]:.2f}x") for number in (4, 6, 7, 8)
    ]
    assert [each.number for each in third.gained if each.on_way] == [8]
    assert (rung_of(page, 8).after, rung_of(page, 8).step) == (3, f"{times[2] / times[7]:.2f}x")
    assert rung_of(page, 13).gain == "at limit"


def test_the_way_leads_from_the_first_rung_to_the_fastest(page: LadderPage) -> None:
    assert [rung.number for rung in page.rungs if rung.on_way] == WAY


def test_what_a_rung_changes_comes_from_the_registry(page: LadderPage) -> None:
    for view, rung in zip(page.rungs, ladder(), strict=True):
        assert view.changes == rung.changes
        assert rung.changes.startswith(view.change.rstrip("."))
        assert view.change.endswith(".")
    assert rung_of(page, 4).change == (
        "The inner loop is not unrolled: #pragma unroll 1, since the compiler unrolls it by itself "
        "otherwise."
    )


def test_points_are_rates_over_the_bytes_of_device_memory(
    page: LadderPage, raw: dict[str, Any]
) -> None:
    assert page.roofline is not None
    for view, found in zip(page.rungs, raw["rungs"], strict=True):
        point = point_of(page, f"{view.number} {view.title}")
        assert point.flop_per_byte == pytest.approx(2 * 4096**3 / found["traffic"]["dram"])
        assert point.flop_per_second == pytest.approx(view.gflops * 1e9 if view.gflops else 0)
        assert (point.level, point.path) == (("DRAM", "way") if view.on_way else ("branch", ""))
    ideal = point_of(page, "fewest operations and bytes")
    assert ideal.flop_per_byte == pytest.approx(2 * 4096**3 / (3 * 4096**2 * 4))
    ceilings = {each.label: (each.value, each.origin) for each in page.roofline.ceilings}
    assert ceilings["FP32 peak"] == (pytest.approx(132 * 128 * 2 * 1.98e9), "datasheet")
    ceiling = gflops(raw["ceiling"]["timing"])
    assert ceilings["cuBLAS"] == (pytest.approx(ceiling * 1e9), "measured")
    assert ideal.flop_per_second == ceilings["FP32 peak"][0]


def test_memory_s_limit_comes_from_a_card(climb: Climb, naive: Page) -> None:
    card = naive.kernels[0]
    page = build_ladder(climb, ladder(), {"01_naive.cu": card}, {})
    assert page.roofline is not None
    limit = next(each for each in page.roofline.ceilings if each.label == "DRAM")
    assert limit.value == pytest.approx(3_201_000e3 * 2 * 6016 / 8)
    placed = rung_of(page, 1).card
    assert placed is not None
    assert placed == replace(card, anchor="rung-1")
    assert "sgemm_naive" in render_ladder(page)


def test_the_chart_has_a_bar_a_rung_and_both_limits(page: LadderPage, raw: dict[str, Any]) -> None:
    rows = charts.climb.rows(page.rungs, page.limits)
    rungs = [row for row in rows if row["what"] == "rung"]
    assert [row["name"] for row in rungs][:2] == ["1 Naive", "2 Coalesced"]
    for row, found in zip(rungs, raw["rungs"], strict=True):
        assert row["gflops"] == pytest.approx(gflops(found["timing"]), rel=1e-5)
    assert rungs[-1]["said"] == "fp32-throughput, at its limit"
    assert str(rungs[7]["step"]).endswith("x over 3")
    ceiling = gflops(raw["ceiling"]["timing"])
    limits = [row["text"] for row in rows if row["what"] == "limit"]
    assert limits == [f"cuBLAS {ceiling:,.0f}", "FP32 peak 66,908"]


def test_where_it_comes_from(page: LadderPage, climb: Climb) -> None:
    facts = {fact.label: fact.text for fact in page.provenance}
    assert climb.ceiling is not None
    assert facts["measured at"] == climb.created
    assert facts["cuBLAS"] == climb.ceiling.cublas
    assert facts["SMs"] == "132"
    assert facts["highest SM clock"] == "1,980 MHz"
    assert facts["fewest bytes"] == "201.3 MB"
    assert facts["times"] == "median of 20 launches after 5 of warm-up"
    assert page.commands == (climb.command,)
    assert page.json == RESULTS.read_text(encoding="utf-8")
    json.dumps(asdict(page), allow_nan=False)


def test_a_rung_that_failed() -> None:
    page = build_ladder(CLIMB, (), {}, {"03_shared_tile.cu": "no capture"})
    rung = rung_of(page, 3)
    assert (rung.status, rung.time, rung.gflops) == ("failed", "-", None)
    assert (rung.error, rung.hint, rung.note) == (
        "the result is wrong",
        "see the index",
        "no capture",
    )
    assert page.detail == "That is 4.0x as fast. 1 rung failed."
    assert page.headline == "From 8 ms to 2 ms over 3 rungs: 50 % of cuBLAS."
    rows = charts.climb.rows(page.rungs, page.limits)
    assert rows[2]["gflops"] is None
    assert rows[2]["said"] == "failed: the result is wrong"
    assert ">the result is wrong" in render_ladder(page).replace("</strong> ", ">")


@pytest.mark.parametrize(
    ("climb", "headline"),
    [
        (replace(CLIMB, ceiling=None), "From 8 ms to 2 ms over 3 rungs: 39 % of the FP32 peak."),
        (replace(CLIMB, rungs=(NAIVE,)), "Naive takes 8 ms: 12 % of cuBLAS."),
        (replace(CLIMB, rungs=(TILE,)), "No rung was timed."),
        (replace(CLIMB, rungs=()), "No rung was timed."),
    ],
)
def test_less_is_said_where_less_is_known(climb: Climb, headline: str) -> None:
    page = build_ladder(climb, ladder(), {}, {})
    assert page.headline == headline
    json.dumps(asdict(page), allow_nan=False)
    assert f"{headline}</h2>" in render_ladder(page)


def test_without_cublas_its_reason_is_a_warning() -> None:
    climb = replace(CLIMB, ceiling=None, ceiling_error=Trouble("CuPy is not here"))
    page = build_ladder(climb, (), {}, {})
    assert page.warnings == ("cuBLAS was not measured: CuPy is not here.",)
    assert [each.label for each in page.limits] == ["FP32 peak"]


def test_a_circle_of_rungs_ends() -> None:
    """Results are files: somebody may have written anything into them."""
    first = replace(NAIVE, after="02_coalesced.cu", timing=timing(1e6))
    page = build_ladder(replace(CLIMB, rungs=(first, COALESCED)), (), {}, {})
    assert all(rung.on_way for rung in page.rungs)
