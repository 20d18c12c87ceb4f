"""The page of a comparison as a document, against the captures that it is made from."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from tests.report.blocks import (
    cells_of,
    chart_of,
    charts,
    every,
    facts_of,
    notes_of,
    section_of,
    table_of,
)
from tests.report.changes import answer, change, comparison, gated, kernels, side, slower, taken

from kernelprof.comparison import words
from kernelprof.comparison.compare import compare_snapshots
from kernelprof.model.comparison import (
    ComparedCounter,
    Match,
    MetricChange,
    TimeChange,
    TimeOutcome,
)
from kernelprof.model.snapshot import Inputs, MeasurementSetup
from kernelprof.report.charts.roofline import Point
from kernelprof.report.charts.times import NoiseBand
from kernelprof.report.document import Bullets, CodeBlock, Document, Section, plain, spans
from kernelprof.report.documents import change_tables
from kernelprof.report.documents import comparison as documents
from kernelprof.report.documents import gate as gate_documents
from kernelprof.report.documents.changed_kernel import format_time
from kernelprof.report.documents.comparison import Detail
from kernelprof.report.writers import html
from kernelprof.report.writers import json as json_writer
from kernelprof.report.writers.html import diff_lines

if TYPE_CHECKING:
    from kernelprof.model.comparison import Comparison, KernelComparison
    from kernelprof.report.document import Chart

GEMM = 2 * 2048**3
"""Operations of the GEMM of ``h200_changes``: 2048 in each dimension."""


def page_of(before: str, after: str) -> Document:
    return document(change(before, after))


def document(found: Comparison, command: str = "") -> Document:
    return documents.document(found, Detail.FULL, command=command)


def section(page: Document, title: str) -> Section:
    return section_of(page.blocks, title)


def chart(page: Document, kind: str) -> Chart:
    return chart_of(page.blocks, kind)


def kinds(page: Document) -> set[str]:
    return {each.kind.partition(":")[0] for each in charts(page.blocks)}


def cells(within: Section) -> list[list[str]]:
    return cells_of(within.blocks)


def notes(page: Document) -> list[str]:
    return notes_of(page.blocks, warning=False)


def facts(page: Document) -> dict[str, str]:
    return facts_of(page.blocks)


@pytest.fixture(scope="module")
def barrier() -> Document:
    """A barrier more in each step of a tiled GEMM."""
    return page_of("tile", "tile-barrier")


def test_the_top_has_both_sides(barrier: Document) -> None:
    (card,) = (each for each in barrier.blocks if isinstance(each, Section) and each.anchor)
    assert card.anchor == "kernel-1"
    rows = {row[0]: row[1:] for row in cells(card)}
    sides = [taken("tile", "1").kernels[0], taken("tile-barrier", "2").kernels[0]]
    assert rows["time"] == [f"{median(each.events_ns) / 1e6:.4g} ms" for each in sides]
    assert rows["verdict"] == [each.verdict.bottleneck for each in sides]
    assert rows["result check"] == ["passed", "passed"]
    assert plain(card.summary).startswith("1.63x slower; more shared-memory wavefronts")
    assert plain(card.title).endswith("1.63x slower")
    assert facts(barrier)["Timed"] == "20 launches each, by CUDA events"
    assert facts(barrier)["Time"].startswith("1.63x slower: 1.85 ms to 3.01 ms")


def test_every_launch_is_a_row_in_its_order(barrier: Document) -> None:
    found = chart(barrier, "launches")
    assert found.kind == "launches"
    for label, run, name in (("tile", "1", "Before"), ("tile-barrier", "2", "After")):
        (shown,) = (row.times for row in found.rows if row.side == name)
        known = taken(label, run).kernels[0].events_ns
        assert shown == pytest.approx([each * 1e-9 for each in known])


def test_medians_have_their_interval(barrier: Document) -> None:
    (after,) = (row for row in chart(barrier, "launches").rows if row.side == "After")
    low, middle, high = after.low, after.median, after.high
    assert low <= middle <= high
    times = [each * 1e-9 for each in taken("tile-barrier", "2").kernels[0].events_ns]
    assert min(times) <= low
    assert high <= max(times)


def test_what_counts_as_noise_is_shown_where_the_sides_are_near() -> None:
    page = page_of("walk", "walk")
    found = chart(page, "launches")
    assert found.kind == "launches:near"
    noise = found.rows[-1]
    assert isinstance(noise, NoiseBand)
    middle = median(taken("walk", "1").kernels[0].events_ns) * 1e-9
    assert noise.low == pytest.approx(middle * 0.995)
    assert noise.high == pytest.approx(middle * 1.005)
    assert any("differences within the grey area count as noise" in each for each in notes(page))


def test_counters_are_marked_in_words(barrier: Document) -> None:
    marks = {row[0]: row[-1] for row in cells(section(barrier, "Exact counters"))}
    assert marks["instructions"] == "worse"
    assert marks["registers per thread"] == ""
    assert list(marks.values()).count("worse") == 2
    assert "better" not in marks.values()


def test_points_are_operations_over_bytes_on_both_sides(barrier: Document) -> None:
    rows = chart(barrier, "roofline").rows
    points = {row.label: row for row in rows if isinstance(row, Point)}
    for label, run, name in (("tile", "1", "before"), ("tile-barrier", "2", "after")):
        metrics = taken(label, run).kernels[0].metrics
        point = points[f"{name}, at DRAM"]
        rate = 2 * metrics["ffma_rate"] + metrics["fadd_rate"] + metrics["fmul_rate"]
        rate *= metrics["sm_clock"]
        moved = metrics["dram_bytes_read"] + metrics["dram_bytes_written"]
        assert point.flop_per_second == pytest.approx(rate, rel=1e-3)
        assert point.flop_per_byte == pytest.approx(
            rate * metrics["duration"] * 1e-9 / moved, rel=1e-3
        )
        assert rate * metrics["duration"] * 1e-9 == pytest.approx(GEMM, rel=0.01)
        assert (point.hollow, point.path) == (name == "before", "DRAM")


def test_limits_are_told_once(barrier: Document) -> None:
    (note,) = (each for each in notes(barrier) if each.startswith("Hollow"))
    assert note.count("Limits:") == 1
    assert note.count("FP32 operations") == 1
    limits = note[note.index("Limits:") :].partition(".")[0]
    assert all(name in limits for name in ("DRAM", "FP32 peak", "L1"))


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("walk", "walk", "no floating-point arithmetic"),
        ("chain", "chain-strides", "roofline|arithmetic|Hollow"),
    ],
)
def test_without_points_it_says_why(before: str, after: str, reason: str) -> None:
    found = section(page_of(before, after), "Roofline")
    (note,) = notes_of(found.blocks)
    assert any(each in note for each in reason.split("|"))


def test_two_gpus_have_no_common_roofline() -> None:
    old, new = taken("tile", "1"), taken("tile-barrier", "1")
    new = replace(new, machine=structs.replace(new.machine, gpu="NVIDIA B200"))
    page = document(compare_snapshots(old, new))
    assert kinds(page) == {"states"}
    assert any("different limits" in each for each in notes(page))
    assert facts(page)["Time"].startswith(
        "times not comparable (different GPU (NVIDIA H200 before, NVIDIA B200 after))"
    )
    rows = cells(section(page, "Where this comes from"))
    assert [row[0] for row in rows if row[-1] == "≠ differs"] == ["GPU"]


def test_without_counters_of_arithmetic_there_is_no_roofline() -> None:
    page = document(comparison(slower("kernel")))
    assert "roofline" not in kinds(page)
    assert any(each.endswith("are missing before and after the change.") for each in notes(page))


def test_warp_states_are_parts_of_the_same_time(barrier: Document) -> None:
    metrics = taken("tile-barrier", "2").kernels[0].metrics
    rows = chart(barrier, "states").rows
    _, state = (each for each in rows if each.name == "barrier")
    whole = metrics["warp_cycles_per_instruction"]
    assert state.state == "after"
    assert state.part == pytest.approx(metrics["stall_barrier"] / whole, rel=1e-3)
    shares = [row.part for row in rows]
    largest = [max(pair) for pair in zip(shares[::2], shares[1::2], strict=True)]
    assert largest == sorted(largest, reverse=True)


def test_several_kinds_of_change_are_a_note() -> None:
    kernel = slower(
        "kernel",
        inputs=change("tile", "tile-barrier").kernels[0].inputs
        + change("padded", "padded-0").kernels[0].inputs,
        kinds=("source", "defines"),
        notes=("other",),
    )
    page = document(comparison(kernel))
    assert facts(page)["Note"].startswith("other 2 kinds of change at once (source, defines): ")


def test_what_changed_in_the_inputs_is_a_row() -> None:
    known = change("padded", "padded-0").kernels[0].inputs
    rows = cells(section(page_of("padded", "padded-0"), "What changed"))
    assert rows == [[each.what, each.before, each.after] for each in known]


def test_kernels_of_one_side_are_listed() -> None:
    alone: dict[str, Any] = {"time": TimeChange(TimeOutcome.NOT_MEASURED), "verdict_changed": False}
    gone = slower("gone", **alone, match=Match.VANISHED, after=None)
    new = slower("new", **alone, match=Match.APPEARED, before=None)
    page = document(comparison(slower("both"), gone, new))
    overview = section(page, "What changed")
    both, vanished, appeared = cells(overview)
    assert both[:5] == ["both", "2 µs", "4 µs", "2.0x slower", "l1-throughput → memory-latency"]
    assert vanished[:5] == ["gone", "2 µs", "-", "vanished", "l1-throughput"]
    assert appeared[:5] == ["new", "-", "4 µs", "appeared", "memory-latency"]
    table = table_of(overview.blocks)
    assert [row[0].tip for row in table.rows] == [
        f"{name}, grid 64x64, block 16x16, 20 launches" for name in ("both", "gone", "new")
    ]
    links = [each.target for row in table.rows for each in spans(row[0].text)]
    assert links == ["kernel-1", "", ""]
    assert plain(overview.summary) == (
        "3 kernels: 1 slower, 1 vanished, 1 new; 1 with a different verdict."
    )


@pytest.mark.parametrize(("match", "side"), [(Match.VANISHED, "first"), (Match.APPEARED, "second")])
def test_a_single_kernel_may_be_on_one_side_only(match: Match, side: str) -> None:
    lacking: dict[str, Any] = {"after" if match is Match.VANISHED else "before": None}
    page = document(comparison(slower("it", match=match, **lacking)))
    assert plain(section(page, "What changed").summary) == f"Is only in the {side} input."
    assert "it</code>" in html.write(page)
    assert kinds(page) == set()


def test_a_command_and_no_folders() -> None:
    place = "/home/somebody/work/kernel.cu"
    kernel = slower("kernel", place)
    made = comparison(kernel, before="/home/somebody/captures/one", after="../other/two")
    page = document(made, "kernelprof compare one two")
    text = html.write(page)
    assert "somebody" not in text
    assert "kernelprof compare one two" in text
    assert page.origin == "one → two"
    assert json.loads(page.data)["kernels"][0]["before"]["source"]["path"] == "kernel.cu"


def test_the_json_is_what_the_program_prints() -> None:
    made = change("tile", "tile-barrier")
    page = document(made)
    before, after = page.origin.split(" → ")
    sides = replace(made.before, origin=before), replace(made.after, origin=after)
    named = replace(made, before=sides[0], after=sides[1])
    assert page.data == json_writer.write(named)
    assert page.file == "comparison.json"


def test_the_gate_s_page_has_its_findings() -> None:
    result = gated("tile", "tile-barrier")
    page = gate_documents.document(result, Detail.FULL)
    assert page.title == "Gate: sgemm_shared_tile_extra_barrier"
    top = page.blocks[0]
    assert isinstance(top, Section)
    assert plain(top.summary) == "Regression: 1 worse."
    listed = [each for each in every(page.blocks) if isinstance(each, Bullets)]
    findings = result.kernels[0].findings
    assert [plain(each) for each in listed[0].items] == [
        f"{each.outcome.value} {each.code.value}: {each.text}" for each in findings
    ]
    assert json.loads(page.data)["outcome"] == "regression"
    many = gate_documents.document(answer(slower("one"), slower("two")), Detail.FULL)
    rows = cells(section(many, "What changed"))
    assert [row[-2:] for row in rows] == [["regression", "slower"]] * 2


# Words and rows


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
    assert format_time(nanoseconds) == text


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
    assert words.change_text(before, after) == change_of_it


def test_a_counter_by_request_tells_the_whole_too() -> None:
    counter = ComparedCounter("m", "sectors", "sector", 160.0, 20.0, False, "request", 16.0, 2.0)
    (row,) = change_tables.counters_table([counter]).rows
    texts = [plain(cell.text) for cell in row]
    assert texts == ["sectors", "16 sector/request", "2 sector/request", "8x less", "better"]
    assert row[0].tip == "In total, 160 before and 20 after"
    (alike,) = change_tables.counters_table([structs.replace(counter, after_each=16.0)]).rows
    assert (plain(alike[1].text), alike[0].tip) == ("160 sector", "")


def test_bars_of_percentages_have_a_whole_and_others_the_larger_side() -> None:
    metrics = (
        MetricChange("l1_throughput", "%", 25.0, 75.0, 0.42),
        MetricChange("dram_bandwidth", "byte/s", 1e9, 4e9, None),
    )
    found = section(document(comparison(slower("kernel", metrics=metrics))), "Metrics that")
    table = table_of(found.blocks)
    bars = [[cell.bar.fill for cell in row if cell.bar is not None] for row in table.rows]
    assert bars == [[0.25, 0.75], [0.25, 1.0]]
    rows = cells(found)
    # Units are busy at the same time: what each explains would not add up.
    assert rows[0][3:] == ["+50 points"]
    assert rows[1][1] == "1 GB/s"


def test_a_diff_has_the_numbers_of_both_sides() -> None:
    diff = "--- before\n+++ after\n@@ -3,2 +3,3 @@\n same\n--- x;\n++++ y;\n+z\n@@ -9 +10 @@\n-q"
    assert list(diff_lines(diff)) == [
        ("kept", 3, 3, "same"),
        ("removed", 4, None, "-- x;"),
        ("added", None, 4, "+++ y;"),
        ("added", None, 5, "z"),
        ("gap", None, None, ""),
        ("removed", 9, None, "q"),
    ]
    assert list(diff_lines("")) == []
    page = document(comparison(slower("kernel", diff=diff)))
    found = section(page, "The source:")
    assert plain(found.title) == "The source: 2 lines removed, 2 added"
    assert found.blocks == (CodeBlock(diff, language="diff"),)
    text = html.write(page)
    assert text.count('aria-label="removed"') == text.count('aria-label="added"') == 2


def test_the_overview_has_the_kernels_that_have_a_ratio() -> None:
    unknown = slower("unknown", time=TimeChange(TimeOutcome.NOT_MEASURED, reason="no time"))
    page = document(comparison(slower("one"), unknown, slower("three")))
    found = chart(page, "changes")
    rows = [(row.name, row.text) for row in found.rows]
    assert rows == [("1 one", "2.0x slower"), ("3 three", "2.0x slower")]
    assert cells(section(page, "What changed"))[1][3] == "not measured"


def test_a_difference_within_a_large_noise_is_called_that() -> None:
    for ratio, text in ((1.03, "within the noise"), (1.004, "as fast as before")):
        time = TimeChange(TimeOutcome.SAME, ratio=ratio, noise_floor=0.05, p=0.2)
        page = document(comparison(slower("kernel", time=time), slower("other")))
        assert words.outcome_text(time) == text
        row = chart(page, "changes").rows[0]
        assert (row.text, row.outcome) == (text, "same")


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
        page = document(replace(made, kernels=(replace(kernel, before=before),)))
        assert "roofline" in kinds(page)


@settings(deadline=None, max_examples=40)
@given(st.lists(kernels(), max_size=3), st.text(st.characters(), max_size=20))
def test_any_comparison_has_a_page(found: list[KernelComparison], note: str) -> None:
    page = document(comparison(*found, notes=(note,)), note)
    json.loads(page.data)
    for each in charts(page.blocks):
        json.dumps(each.rows, allow_nan=False)
    text = html.write(page)
    assert text.count("<h1>") == 1
    text.encode("utf-8")


def test_an_architecture_that_is_no_number() -> None:
    machine = MeasurementSetup(compute_capability="8.6, 9.0")
    made = change("tile", "tile-barrier")
    sides = replace(made.before, machine=machine), replace(made.after, machine=machine)
    page = document(replace(made, before=sides[0], after=sides[1]))
    assert "roofline" in kinds(page)
    assert not any("FP32 peak" in each for each in notes(page))


def test_a_side_without_times_says_so() -> None:
    kernel = slower(
        "kernel",
        before=side("kernel", median_ns=None),
        time=TimeChange(TimeOutcome.NOT_MEASURED, reason="one side has no time"),
    )
    page = document(comparison(kernel))
    (card,) = (each for each in page.blocks if isinstance(each, Section) and each.anchor)
    assert cells(card)[0] == ["time", "not known", "4 µs"]
    assert facts(page)["Time"].endswith("(one side has no time)")
