"""The page of a comparison as plain values, against the captures that it is made from."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernelprof.report.html.build.comparison import build_comparison
from kernelprof.report.html.build.comparison.diff import diff_lines, title
from kernelprof.report.html.build.comparison.tables import counter_row, metric_row
from kernelprof.report.html.build.comparison.times import fine, interval_text
from kernelprof.report.html.comparison import render_comparison_page
from tests.report.changes import change, comparison, kernels, side, slower, taken

from kernelprof.compare.compare import compare
from kernelprof.model.comparison import CounterChange, Match, MetricChange, TimeChange, TimeOutcome
from kernelprof.model.snapshot import Inputs, Machine
from kernelprof.report.html.charts import comparison as drawn
from kernelprof.report.html.charts import launches
from kernelprof.report.writers.json import write as write_json

if TYPE_CHECKING:
    from kernelprof.report.html.comparison_view import ChangedKernel, ComparisonPage

    from kernelprof.model.comparison import Comparison, KernelComparison

GEMM = 2 * 2048**3
"""Operations of the GEMM of ``h200_changes``: 2048 in each dimension."""


def page_of(before: str, after: str) -> ComparisonPage:
    """The page of a change, with the machines of its sides."""
    return build_comparison(change(before, after))


@pytest.fixture(scope="module")
def barrier() -> ChangedKernel:
    """A barrier more in each step of a tiled GEMM."""
    return page_of("tile", "tile-barrier").kernels[0]


def test_the_top_has_both_sides(barrier: ChangedKernel) -> None:
    for shown, (label, run) in (
        (barrier.before, ("tile", "1")),
        (barrier.after, ("tile-barrier", "2")),
    ):
        kernel = taken(label, run).kernels[0]
        assert shown.time == f"{median(kernel.events_ns) / 1e6:.4g} ms"
        assert shown.verdict == kernel.verdict.bottleneck
        assert {fact.label: fact.text for fact in shown.facts}["result check"] == "passed"
    assert barrier.sign.words == "Slower"
    assert barrier.headline.startswith("1.6")
    assert barrier.short.endswith("x slower")


def test_every_launch_is_a_row_in_its_order(barrier: ChangedKernel) -> None:
    assert barrier.times is not None
    rows = launches.rows(barrier.times)
    for label, run, side_name in (("tile", "1", "Before"), ("tile-barrier", "2", "After")):
        shown = [row["x"] for row in rows if row["what"] == "launch" and row["side"] == side_name]
        known = taken(label, run).kernels[0].events_ns
        assert shown == pytest.approx([each * 1e-9 for each in known])
    assert not barrier.times.near
    assert rows[0] == {"what": "corner", "x": 0.0, "y": 0.0}


def test_medians_have_their_interval(barrier: ChangedKernel) -> None:
    assert barrier.times is not None
    after = barrier.times.after
    assert after.low is not None
    assert after.high is not None
    assert after.low <= after.median <= after.high
    assert min(after.seconds) <= after.low
    assert after.high <= max(after.seconds)


def test_what_counts_as_noise_is_shown_where_the_sides_are_near() -> None:
    kernel = page_of("walk", "walk").kernels[0]
    assert kernel.sign.words == "As fast as before"
    assert kernel.times is not None
    assert kernel.times.near
    noise = next(row for row in launches.rows(kernel.times) if row["what"] == "noise")
    middle = kernel.times.before.median
    assert noise["x"] == pytest.approx(middle * 0.995)
    assert noise["x2"] == pytest.approx(middle * 1.005)


def test_counters_are_marked_in_words(barrier: ChangedKernel) -> None:
    marks = {row.metric: row.sign.words for row in barrier.counters}
    assert marks["instructions"] == "worse"
    assert marks["registers_per_thread"] == "neither"
    assert (barrier.worse, barrier.better) == (2, 0)


def test_points_are_operations_over_bytes_on_both_sides(barrier: ChangedKernel) -> None:
    assert barrier.roofline is not None
    for label, run, name in (("tile", "1", "before"), ("tile-barrier", "2", "after")):
        metrics = taken(label, run).kernels[0].metrics
        point = next(each for each in barrier.roofline.points if each.name == f"DRAM {name}")
        rate = 2 * metrics["ffma_rate"] + metrics["fadd_rate"] + metrics["fmul_rate"]
        rate *= metrics["sm_clock"]
        moved = metrics["dram_bytes_read"] + metrics["dram_bytes_written"]
        assert point.flop_per_second == pytest.approx(rate)
        assert point.flop_per_byte == pytest.approx(rate * metrics["duration"] * 1e-9 / moved)
        assert rate * metrics["duration"] * 1e-9 == pytest.approx(GEMM, rel=0.01)
        assert point.path == "DRAM"
        assert point.hollow == (name == "before")
    ideal = next(each for each in barrier.roofline.points if each.level == "ideal")
    assert ideal.flop_per_byte == pytest.approx(GEMM / (3 * 2048**2 * 4))
    arrows = [row for row in drawn.roofline_rows(barrier.roofline) if row["what"] == "arrow"]
    assert {row["level"] for row in arrows} <= {"L1", "L2", "DRAM"}
    assert all(float(str(row["up"])) < 0 for row in arrows)


def test_limits_are_told_once(barrier: ChangedKernel) -> None:
    assert barrier.roofline is not None
    labels = [each.label for each in barrier.roofline.ceilings]
    assert sorted(labels) == ["DRAM", "FP32 peak", "L1"]
    assert barrier.roofline_note.count("Limits:") == 1
    assert barrier.roofline_note.count("FP32 operations") == 1


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("walk", "walk", "no floating-point arithmetic"),
        ("chain", "chain-strides", "roofline|arithmetic|Hollow"),
    ],
)
def test_without_points_it_says_why(before: str, after: str, reason: str) -> None:
    kernel = page_of(before, after).kernels[0]
    assert any(each in kernel.roofline_note for each in reason.split("|"))


def test_two_gpus_have_no_common_roofline() -> None:
    old, new = taken("tile", "1"), taken("tile-barrier", "1")
    new = replace(new, machine=replace(new.machine, gpu="NVIDIA B200"))
    page = build_comparison(compare(old, new))
    kernel = page.kernels[0]
    assert kernel.roofline is None
    assert "different limits" in kernel.roofline_note
    assert page.warnings == (
        "Times are not compared: another GPU (NVIDIA H200 before, NVIDIA B200 after).",
    )
    assert kernel.why_no_times.startswith("Times are not compared: another GPU")
    assert kernel.times is None
    assert [row.what for row in page.sides if row.kind] == ["GPU"]


def test_without_counters_of_arithmetic_there_is_no_roofline() -> None:
    kernel = build_comparison(comparison(slower("kernel"))).kernels[0]
    assert kernel.roofline is None
    assert kernel.roofline_note.endswith("which are not known before and after.")


def test_warp_states_are_parts_of_the_same_time(barrier: ChangedKernel) -> None:
    metrics = taken("tile-barrier", "2").kernels[0].metrics
    state = next(each for each in barrier.states if each.name == "barrier")
    whole = metrics["warp_cycles_per_instruction"]
    assert state.after == pytest.approx(metrics["stall_barrier"] / whole)
    largest = [max(each.before, each.after) for each in barrier.states]
    assert largest == sorted(largest, reverse=True)
    assert len(drawn.state_rows(barrier.states)) == 2 * len(barrier.states)


def test_several_kinds_of_change_are_a_warning() -> None:
    kernel = slower(
        "kernel",
        inputs=change("tile", "tile-barrier").kernels[0].inputs
        + change("padded", "padded-0").kernels[0].inputs,
        kinds=("source", "defines"),
        notes=("other",),
    )
    shown = build_comparison(comparison(kernel)).kernels[0]
    assert [each.split(":")[0] for each in shown.warnings] == [
        "2 kinds of change at once (source, defines)"
    ]
    assert shown.notes == ("Other.",)


def test_what_changed_in_the_inputs_is_a_row() -> None:
    kernel = page_of("padded", "padded-0").kernels[0]
    told = change("padded", "padded-0").kernels[0].inputs
    assert [(row.kind, row.what, row.before, row.after) for row in kernel.inputs] == [
        (each.kind, each.what, each.before, each.after) for each in told
    ]


def test_kernels_of_one_side_are_listed() -> None:
    alone: dict[str, Any] = {"time": TimeChange(TimeOutcome.NOT_MEASURED), "verdict_changed": False}
    gone = slower("gone", **alone, match=Match.VANISHED, after=None)
    new = slower("new", **alone, match=Match.APPEARED, before=None)
    page = build_comparison(comparison(slower("both"), gone, new))
    assert [each.name for each in page.vanished] == ["gone"]
    assert [each.name for each in page.appeared] == ["new"]
    assert [each.name for each in page.kernels] == ["both"]
    assert page.headline == "3 kernels: 1 slower, 1 vanished, 1 new; 1 with another verdict."
    assert page.appeared[0].launch == "grid 64x64, block 16x16, 20 launches"


@pytest.mark.parametrize("match", [Match.VANISHED, Match.APPEARED])
def test_a_single_kernel_may_be_on_one_side_only(match: Match) -> None:
    lacking: dict[str, Any] = {"after" if match is Match.VANISHED else "before": None}
    kernel = slower("it", match=match, **lacking)
    page = build_comparison(comparison(kernel))
    assert page.kernels == ()
    assert page.headline.startswith("Is not in the")
    assert "it</code>" in render_comparison_page(comparison(kernel))


def test_a_command_and_no_folders() -> None:
    place = "/home/somebody/work/kernel.cu"
    kernel = slower("kernel", place)
    made = comparison(kernel, before="/home/somebody/captures/one", after="../other/two")
    text = render_comparison_page(made, "kernelprof compare one two")
    assert "somebody" not in text
    assert "kernelprof compare one two" in text
    page = build_comparison(made)
    assert (page.before, page.after) == ("one", "two")
    assert json.loads(page.json)["kernels"][0]["before"]["source"]["path"] == "kernel.cu"


def test_the_json_is_what_the_program_prints() -> None:
    made = change("tile", "tile-barrier")
    page = build_comparison(made)
    named = replace(
        made,
        before=replace(made.before, origin=page.before),
        after=replace(made.after, origin=page.after),
    )
    assert page.json == write_json(named)


# Words and rows


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.0828, 0.0829, "12.06x to 12.08x faster"),
        (1.02, 1.04, "2 % to 4 % slower"),
        (0.99, 1.02, "1 % faster to 2 % slower"),
        (0.5, 2.0, "2x faster to 2x slower"),
    ],
)
def test_intervals_in_words(low: float, high: float, text: str) -> None:
    assert interval_text(low, high) == text


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (2_046_123.0, "2.046 ms"),
        (275.9e6, "275.9 ms"),
        (812.0, "812 ns"),
        (0.5, "0.5 ns"),
        (1.5e9, "1.5 s"),
        (0.0, "0 ns"),
        (1e14, "100,000 s"),
    ],
)
def test_times_have_four_digits(nanoseconds: float, text: str) -> None:
    assert fine(nanoseconds) == text


@pytest.mark.parametrize(
    ("before", "after", "change_of_it"),
    [
        (100.0, 660.0, "6.6x as much"),
        (660.0, 100.0, "6.6x less"),
        (100.0, 112.0, "+12 %"),
        (100.0, 88.0, "−12 %"),
        (0.0, 3.0, "from none"),
        (3.0, 0.0, "to none"),
        (math.nan, 1.0, ""),
        (-1.0, 1.0, ""),
    ],
)
def test_changes_of_counters(before: float, after: float, change_of_it: str) -> None:
    row = counter_row(CounterChange("instructions", "instructions", "inst", before, after, True))
    assert row.change == change_of_it


def test_a_counter_by_request_tells_the_whole_too() -> None:
    counter = CounterChange("m", "sectors", "sector", 160.0, 20.0, False, 16.0, 2.0, "request")
    row = counter_row(counter)
    assert (row.before, row.after) == ("16 sector/request", "2 sector/request")
    assert (row.before_all, row.after_all) == ("160", "20")
    alike = counter_row(replace(counter, after_each=16.0))
    assert (alike.before, alike.before_all) == ("160 sector", "")


def test_bars_of_percentages_have_a_whole_and_others_the_larger_side() -> None:
    row = metric_row(MetricChange("l1_throughput", "%", 25.0, 75.0, 0.42))
    assert (row.before_fill, row.after_fill) == (0.25, 0.75)
    assert (row.change, row.explains) == ("+50 points", "42 %")
    row = metric_row(MetricChange("dram_bandwidth", "byte/s", 1e9, 4e9, None))
    assert (row.before_fill, row.after_fill) == (0.25, 1.0)
    assert (row.before, row.explains) == ("1 GB/s", "")


def test_a_diff_has_the_numbers_of_both_sides() -> None:
    diff = "--- before\n+++ after\n@@ -3,2 +3,3 @@\n same\n--- x;\n++++ y;\n+z\n@@ -9 +10 @@\n-q"
    lines = diff_lines(diff)
    assert [(each.kind, each.before, each.after, each.text) for each in lines] == [
        ("kept", 3, 3, "same"),
        ("removed", 4, None, "-- x;"),
        ("added", None, 4, "+++ y;"),
        ("added", None, 5, "z"),
        ("gap", None, None, ""),
        ("removed", 9, None, "q"),
    ]
    assert title(lines) == "2 lines removed, 2 added"
    assert diff_lines("") == ()


def test_the_overview_has_the_kernels_that_have_a_ratio() -> None:
    unknown = slower("unknown", time=TimeChange(TimeOutcome.NOT_MEASURED, reason="no time"))
    page = build_comparison(comparison(slower("one"), unknown, slower("three")))
    rows = drawn.kernel_rows(page.kernels)
    assert [(row["name"], row["text"]) for row in rows] == [
        ("1 one", "2.0x slower"),
        ("3 three", "2.0x slower"),
    ]
    assert not drawn.are_near(page.kernels)
    assert page.kernels[1].why_no_times == "Times are not compared: no time."


def test_a_difference_within_a_large_noise_is_called_that() -> None:
    for ratio, words in ((1.03, "within the noise"), (1.004, "as fast as before")):
        time = TimeChange(TimeOutcome.SAME, ratio=ratio, floor=0.05, p=0.2)
        shown = build_comparison(comparison(slower("kernel", time=time))).kernels[0]
        assert (shown.short, shown.sign.words.lower(), shown.sign.style) == (words, words, "same")


def test_amounts_of_a_specification_that_are_none() -> None:
    """Captures are files of strangers: a specification may hold anything."""
    made = change("tile", "tile-barrier")
    odd: list[dict[str, object]] = [
        {"flops": "1 / 0"},
        {"flops": "M +"},
        {"flops": "M", "sizes": 3, "compile": "no"},
        {"flops": 7, "sizes": {"M": "x"}},
    ]
    for specification in odd:
        kernel = made.kernels[0]
        assert kernel.before is not None
        before = replace(kernel.before, inputs=Inputs("k.cu", "0" * 64, specification))
        page = build_comparison(replace(made, kernels=(replace(kernel, before=before),)))
        assert page.kernels[0].roofline is not None


@settings(deadline=None)
@given(st.lists(kernels(), max_size=3), st.text(st.characters(), max_size=20))
def test_any_comparison_has_a_page(found: list[KernelComparison], note: str) -> None:
    made: Comparison = comparison(*found, notes=(note,))
    page = build_comparison(made)
    values = asdict(page)
    for kernel in values["kernels"]:
        json.dumps(kernel, allow_nan=False)
    text = render_comparison_page(made)
    assert text.count("<h1>") == 1
    text.encode("utf-8")


def test_an_architecture_that_is_no_number() -> None:
    machine = Machine(compute_capability="8.6, 9.0")
    made = change("tile", "tile-barrier")
    sides = [
        replace(taken(label, run), machine=machine)
        for label, run in (("tile", "1"), ("tile-barrier", "2"))
    ]
    page = build_comparison(replace(made, before=sides[0], after=sides[1]))
    assert page.kernels[0].roofline is not None
    assert "FP32 peak" not in {each.label for each in page.kernels[0].roofline.ceilings}


def test_a_side_without_times_says_so() -> None:
    kernel = slower(
        "kernel",
        before=side("kernel", median_ns=None),
        time=TimeChange(TimeOutcome.NOT_MEASURED, reason="one side has no time"),
    )
    shown = build_comparison(comparison(kernel)).kernels[0]
    assert (shown.before.time, shown.after.time) == ("time not known", "4 µs")
