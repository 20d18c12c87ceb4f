"""Values on a page against hand arithmetic on the raw columns of real captures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.report.blocks import notes_of
from tests.report.html_views.helpers import card_of, check, page_of

from kernelprof.collect.recorded import FOLDER
from kernelprof.model.diagnosis import Confidence
from kernelprof.report.document import Bar, Bullets, plain
from kernelprof.report.documents.verdict import (
    other_findings,
    summarize_verdict,
    verdict_headline,
)
from kernelprof.report.figures import opcode_mix
from kernelprof.report.figures.roofline import L1_LABEL
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.report.html_views.helpers import Card, Page

    from kernelprof.model.capture import Capture
    from kernelprof.report.charts.roofline import Ceiling, Point

N = 2048


def _point(card: Card, level: str) -> Point:
    assert card.roofline is not None
    return next(point for point in card.roofline.points if point.level == level)


def _ceiling(card: Card, label: str) -> Ceiling:
    assert card.roofline is not None
    return next(each for each in card.roofline.ceilings if each.label == label)


def _raw(capture: Capture, name: str, row: int) -> float:
    return float(capture.columns[name].values[row])


@pytest.mark.parametrize("launch", range(12))
def test_the_counted_operations_of_a_gemm_are_those_of_its_definition(
    series: Page, series_capture: Capture, launch: int
) -> None:
    seconds = _raw(series_capture, "gpu__time_duration.sum", launch) * 1e-9
    found = _point(card_of(series, str(launch)), "DRAM").flop_per_second
    assert found == pytest.approx(2 * N**3 / seconds, rel=0.005)


def test_the_recorded_naive_kernel(naive: Page) -> None:
    check(naive)
    (card,) = naive.kernels
    flops, minimum = 2 * 4096**3, 3 * 4096**2 * 4
    assert card.facts["time"] == "275.9 ms, the median of 20 launches; 275.9 ms with the profiler"
    assert card.kernel.duration_ns is not None
    assert card.kernel.duration_ns.median == 275_881_632
    for level in ("DRAM", "L2", "L1"):
        expected = flops / 275_881_632e-9
        assert _point(card, level).flop_per_second == pytest.approx(expected, rel=0.005)
    ideal = _point(card, "ideal")
    assert ideal.flop_per_byte == pytest.approx(flops / minimum)
    # 132 SMs with 128 lanes at 1,979,347,571.55 Hz: compute-bound at 683 operations a byte.
    peak = _ceiling(card, "FP32 peak")
    assert (peak.kind, peak.origin) == ("compute", "computed")
    assert peak.value == pytest.approx(132 * 128 * 2 * 1_979_347_571.55)
    assert ideal.flop_per_second == peak.value
    # Device memory is at 0.64 % of its peak, printed with two decimals: too little to divide by.
    memory = _ceiling(card, "DRAM")
    assert memory.origin == "datasheet"
    assert memory.value == pytest.approx(3_201_000e3 * 2 * 6016 / 8)
    assert _ceiling(card, L1_LABEL).value == pytest.approx(132 * 128 * 1_979_347_571.55)
    assert card.source is not None
    assert "differs" not in " ".join(notes_of(card.source.blocks))
    facts = card.facts
    assert facts["GPU"] == "NVIDIA H200 (compute capability 9.0)"
    assert facts["share of peak"] == "0.7 %: 498.2 GFLOP/s of 66.89 TFLOP/s FP32"
    assert facts["busiest unit"] == "L1 and shared memory, 98 % of peak"


def test_intensities_are_operations_over_the_bytes_of_each_level(
    series: Page, series_capture: Capture
) -> None:
    card = card_of(series, "0")
    dram = 33_761_000 + 13_056_000
    sectors = sum(
        _raw(series_capture, f"l1tex__t_sectors_pipe_lsu_mem_global_op_{way}.sum", 0)
        for way in ("ld", "st")
    )
    for level, size in (("DRAM", dram), ("L2", 132_371_262 * 32), ("L1", sectors * 32)):
        assert _point(card, level).flop_per_byte == pytest.approx(2 * N**3 / size, rel=1e-4)


@pytest.mark.parametrize(
    ("launch", "label", "value"),
    [
        ("0", "FP32 peak", 33_792 * 1.980181e9),
        ("0", "DRAM", 1504 * 3.199492e9),
        ("0", "L2", 6016 * 1.708831e9),
        ("0", L1_LABEL, 16_896 * 1.980181e9),
        ("16", "FP64 peak", 16_896 * 1.975e9),
    ],
)
def test_ceilings_that_the_profiler_read_are_measured(
    series: Page, launch: str, label: str, value: float
) -> None:
    ceiling = _ceiling(card_of(series, launch), label)
    assert ceiling.origin == "measured"
    assert ceiling.value == pytest.approx(value, rel=0.01 if launch == "16" else None)


def test_a_busy_memory_gives_its_own_ceiling(captures: Path) -> None:
    page = page_of(read_capture(captures / "fixture_full_preset.raw.csv.gz"))
    memory = _ceiling(card_of(page, "0"), "DRAM")
    assert memory.origin == "measured"
    assert memory.value == pytest.approx(1_341_197e6 / 0.27938745)
    # The same peak from the attributes: 3201 MHz, both edges, 6016 bits.
    assert memory.value == pytest.approx(3_201_000e3 * 2 * 6016 / 8, rel=0.005)


def test_fp64_is_near_its_own_ceiling(series: Page) -> None:
    card = card_of(series, "16")
    # 98.3 % of the pipe, nearly all of it multiply-adds.
    share = _point(card, "DRAM").flop_per_second / _ceiling(card, "FP64 peak").value
    assert share == pytest.approx(16598.702782 / 16_896, rel=0.001)


def test_tensor_cores_have_the_ceiling_of_their_path(captures: Path) -> None:
    page = page_of(read_capture(captures / "validation" / "raw.csv.gz"))
    card = card_of(page, "43")
    peak = _ceiling(card, "tensor cores (FP16 to FP32) peak")
    assert peak.value == pytest.approx(653.323469719416e12)
    assert _point(card, "L2").flop_per_second == pytest.approx(596.523235555e12)


def test_points_stay_below_their_ceilings(series: Page, captures: Path) -> None:
    validation = page_of(read_capture(captures / "validation" / "raw.csv.gz"))
    checked = 0
    for card in (*series.kernels, *validation.kernels):
        ceilings = {each.label: each for each in card.roofline.ceilings} if card.roofline else {}
        for point in card.roofline.points if card.roofline else ():
            for each in ceilings.values():
                if each.kind == "compute":
                    assert point.flop_per_second <= each.value * 1.01
            limit = {"L1": L1_LABEL, "shared": L1_LABEL}.get(point.level, point.level)
            if limit in {"DRAM", "L2", L1_LABEL} and limit in ceilings:
                rate = point.flop_per_second / point.flop_per_byte
                assert rate <= ceilings[limit].value * 1.03, (card.name, point)
                checked += 1
    assert checked > 200


@pytest.mark.parametrize(
    ("launch", "why"),
    # 2.3 % of the instructions of the second copy are HFMA2, and it has no FP16 values.
    [("14", "no floating-point arithmetic"), ("25", "move constants")],
)
def test_a_kernel_without_arithmetic_has_no_point(series: Page, launch: str, why: str) -> None:
    card = card_of(series, launch)
    assert card.roofline is not None
    assert card.roofline.points == ()
    assert why in card.roofline.note
    assert "share of peak" not in card.facts


def test_low_occupancy_names_shared_memory(series: Page) -> None:
    occupancy = card_of(series, "22").occupancy
    assert occupancy is not None
    assert occupancy.limiters == ("shared memory",)
    assert dict(occupancy.limits)["shared memory"] == 1
    assert occupancy.theoretical == pytest.approx(4 / 64)
    assert occupancy.note == "Shared memory limits an SM to 1 block of 4 warps."


@pytest.mark.parametrize("launch", ["0", "1", "11", "24", "20"])
def test_the_excess_is_that_of_the_evidence(series: Page, launch: str) -> None:
    card = card_of(series, launch)
    bar = next(what.bar for what, _ in card.evidence if "`global_sectors`" in what.tip)
    assert card.memory is not None
    assert bar is not None
    assert card.memory.excess == pytest.approx(bar.fill)


def test_the_memory_picture_of_the_naive_kernel(naive: Page) -> None:
    memory = naive.kernels[0].memory
    assert memory is not None
    levels = {level.name: level for level in memory.levels}
    assert list(levels) == ["threads", "L1", "L2", "device memory"]
    # Every multiply-add asks for a value of A and one of B, and every output is written once.
    asked = (2 * 4096**3 + 4096**2) * 4
    assert levels["threads"].bytes == pytest.approx(asked, rel=1e-4)
    minimum = 3 * 4096**2 * 4
    assert memory.note.startswith(
        "The minimum number of bytes is 201.3 MB, according to the launch specification."
    )
    for level in memory.levels:
        assert level.multiple == pytest.approx(level.bytes / minimum)
    assert levels["L1"].hit_rate == pytest.approx(0.9923)
    assert levels["device memory"].hit_rate is None


def test_without_a_specification_no_multiple_and_no_guess_of_types(series: Page) -> None:
    memory = card_of(series, "0").memory
    assert memory is not None
    assert "fewest" not in memory.note
    assert all(level.multiple is None for level in memory.levels)
    assert "counts once" in memory.levels[0].tip


def test_warp_states_are_sorted_and_add_up(series: Page, series_capture: Capture) -> None:
    for card in series.kernels:
        states = card.warp_states
        assert states is not None
        shares = [state.share for state in states.states]
        ordered = shares[:-1] if states.states[-1].name == "not in the capture" else shares
        assert ordered == sorted(ordered, reverse=True)
        assert sum(shares) == pytest.approx(1.0, abs=0.02)
    states = card_of(series, "19").warp_states
    assert states is not None
    stall = "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio"
    whole = "smsp__average_warp_latency_per_inst_issued.ratio"
    expected = _raw(series_capture, stall, 19) / _raw(series_capture, whole, 19)
    assert states.states[0].name == "lg throttle"
    assert states.states[0].share == pytest.approx(expected)
    assert states.explained.startswith("The queue for global and local memory")


def test_pipes_and_instruction_mix(series: Page) -> None:
    card = card_of(series, "16")
    assert card.pipes[0].name == "FP64"
    assert card.pipes[0].share == pytest.approx(0.98324374)
    mix = {each.name: each.share for each in card_of(series, "0").instructions}
    # Warps load 2 N^3 / 32 times and threads multiply-add N^3 times, of 1,231,028,224 instructions.
    assert mix["global load"] == pytest.approx(2 * N**3 / 32 / 1_231_028_224)
    assert mix["FP32 multiply-add"] == pytest.approx(N**3 / (1_231_028_224 * 31.98), rel=1e-3)
    assert sum(mix.values()) == pytest.approx(1.0, abs=0.001)


def test_integer_work_is_shown_where_pipes_tell_of_it(series: Page) -> None:
    copied = {each.name: each.share for each in card_of(series, "14").instructions}
    # A copy of float4 is addresses: four fifths of it were "everything else" before.
    assert copied["integer and logic"] == pytest.approx(0.609, abs=0.001)
    assert copied["integer multiply"] == pytest.approx(0.157, abs=0.001)
    assert copied["everything else"] < 0.01
    for card in series.kernels:
        whole = sum(each.share for each in card.instructions)
        assert whole <= 1.0 + opcode_mix.TOLERANCE


def test_tensor_cores_have_a_ceiling_on_recorded_captures() -> None:
    folder = FOLDER / "h200-bf16" / "13_even_waves"
    page = page_of(read_capture(folder), manifest=read_manifest(folder))
    (card,) = page.kernels
    peak = _ceiling(card, "tensor peak, bfloat16")
    assert (peak.kind, peak.origin) == ("compute", "computed")
    # 2048 multiply-adds an SM and cycle, at the clock of the launch.
    clock = peak.value / (132 * 2048 * 2)
    assert 1.5e9 < clock < 1.98e9
    assert all(each.flop_per_second <= peak.value for each in card.roofline.points)  # type: ignore[union-attr]


def test_values_are_of_the_launch_with_the_median_time(captures: Path) -> None:
    capture = read_capture(captures / "gemm_series.same-code-13x.raw.csv")
    page = page_of(capture)
    card = page.kernels[0]
    assert card.kernel.launches == 13
    facts = card.facts
    shown = facts["shown launch"].removeprefix("ID ")
    row = [launch.id for launch in capture.launches].index(shown)
    assert card.kernel.duration_ns is not None
    median = card.kernel.duration_ns.median
    assert _raw(capture, "gpu__time_duration.sum", row) == median
    assert card.metrics["gpu__time_duration.sum"][0] == f"{median:,.0f}"
    assert facts["time"].startswith("median ")


def test_the_busiest_unit_is_the_one_whose_counter_is_highest(captures: Path) -> None:
    """In a stream L2's counter stands above that of the device memory, which is what limits."""
    capture = read_capture(captures / "validation" / "more.raw.csv.gz")
    cards = {each.name: each.facts["busiest unit"] for each in page_of(capture).kernels}
    assert cards["stream_copy"] == "L2, 66 % of peak; device memory, 52 %"
    assert cards["stream_fill4"] == "L2, 94 % of peak"


def test_headlines_use_the_evidence(series: Page) -> None:
    assert card_of(series, "1").headline == (
        "Threads of a warp access scattered global addresses: 85 % of global-memory sectors are "
        "wasted."
    )
    assert "only 7.72 of 32 are active" in card_of(series, "18").headline
    assert "its grid size is 4" in card_of(series, "23").headline
    assert card_of(series, "14").headline.startswith("DRAM moves data about as fast")
    assert card_of(series, "14").advice["Less work"] == (
        "up to 2.0x with half the work, 3.2x with even less, computed from the utilization of "
        "the busiest unit other than DRAM and L2"
    )
    assert (
        card_of(series, "1").advice["Gain"].startswith("about 5.2x (3.1x to 8.8x), computed from ")
    )


def test_a_worked_out_value_says_how_and_a_unit_has_a_name(series: Page) -> None:
    rows = [plain(what.text) for what, _ in card_of(series, "1").evidence]
    assert rows[0] == "wasted global-memory sectors (computed)"
    tip = card_of(series, "1").evidence[0][0].tip
    assert tip.startswith("Computed: 1 - ideal / actual global-memory sectors. ")
    assert rows[2] == "L1 throughput"
    labels = [plain(what.text) for what, _ in card_of(series, "25").evidence]
    assert "busiest unit (L2)" in labels


def test_an_undecided_card_says_what_its_values_show(eight: Page) -> None:
    blocks = card_of(eight, "1").part("What is known").blocks
    (shown,) = (block for block in blocks if isinstance(block, Bullets))
    verdict = card_of(eight, "1").kernel.verdict
    assert [plain(each) for each in shown.items] == [each.text for each in other_findings(verdict)]
    assert "(global loads touch 16.5 sectors per request" in verdict_headline(verdict)


def test_a_full_unit_at_low_confidence_is_not_said_to_do_needed_work_only(series: Page) -> None:
    verdict = card_of(series, "14").kernel.verdict
    assert summarize_verdict(verdict).endswith("this GPU cannot do the same work much faster.")
    unsure = summarize_verdict(replace(verdict, confidence=Confidence.LOW))
    assert unsure == (
        "DRAM moves data about as fast as it can, but it is not proven that all of the work is "
        "needed."
    )


def test_a_bar_tells_where_its_threshold_is_from(series: Page) -> None:
    what, value = card_of(series, "22").evidence[0]
    assert (plain(what.text), plain(value.text)) == (
        "theoretical occupancy",
        "6.25 % (threshold 50 %)",
    )
    assert what.bar == Bar(0.0625, 0.5)
    assert "Occupancy that registers, shared memory and block size allow." in what.tip
    assert "Threshold 50 % (share of warp slots): capture tests/captures/gemm_series" in what.tip
