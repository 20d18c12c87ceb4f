"""The reports of a climb whose figures are round, so that each cell can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from tests.ladder.samples import BF16, CLIMB, COALESCED, NAIVE, ROLLED, TILE, timing
from tests.report.blocks import chart_of

from kernelprof.analysis.metrics.architectures import fp32_lanes
from kernelprof.errors import ErrorFacts
from kernelprof.ladder.product import Product
from kernelprof.ladder.registry import find_ladder
from kernelprof.ladder.results import Climb, Surroundings, peak_gflops
from kernelprof.report.charts import draw
from kernelprof.report.documents.ladder import document
from kernelprof.report.writers import html, markdown

Chip = tuple[str | None, int | None, float | None]


def as_markdown(climb: Climb) -> str:
    return markdown.write(document(climb, find_ladder().rungs), largest=None, level=1)


def rows(text: str, heading: str) -> list[dict[str, str]]:
    """The rows of the first table below a heading, by column."""
    lines = text.partition(f"{heading}\n")[2].splitlines()
    table = []
    for line in lines:
        if line.startswith("|"):
            table.append([cell.strip() for cell in line.strip("|").split("|")])
        elif table:
            break
    columns, marks, *found = table
    assert all(set(mark) <= {"-", ":"} for mark in marks)
    assert all(len(row) == len(columns) for row in found)
    return [dict(zip(columns, row, strict=True)) for row in found]


def test_it_says_what_was_climbed_on_what_and_how() -> None:
    text = as_markdown(CLIMB)
    assert text.startswith("# The GEMM ladder on Some GPU\n")
    assert (
        "FP32, row-major, M = N = K = 1000. GPU: Some GPU (compute capability 9.0, 10 SMs, at "
        "most 1,000 MHz). Measured on 2026-11-21 with driver 580.1, CUDA 13.0, nvcc 13.0.88, "
        "Nsight Compute 2025.3.1.0 (--clock-control none), kernelprof 0.1.0.\n"
    ) in text
    assert "```sh\nkernelprof ladder run -o ladder.md\n```" in text


def test_times_rates_and_shares() -> None:
    """2 GFLOP in 8 ms are 250 GFLOP/s; the peak is 10 SMs x 128 x 2 x 1 GHz = 2,560 GFLOP/s."""
    naive, coalesced, tile = rows(as_markdown(CLIMB), "## Time and verdict")
    assert naive == {
        "rung": "[1 Naive](#rung-1)",
        "verdict": "`uncoalesced-global-access`",
        "confidence": "high",
        "time": "8 ms",
        "GFLOP/s": "250",
        "of cuBLAS": "12 %",
        "expected gain": "3.4x",
        "next rung gained": "2: 4.0x",
    }
    assert coalesced["GFLOP/s"] == "1,000"
    assert coalesced["of cuBLAS"] == "50 %"
    assert coalesced["expected gain"] == "at limit"
    assert coalesced["next rung gained"] == "-"
    text = as_markdown(CLIMB)
    assert "**95 % confidence interval of the median:** 7.92 to 8.08 ms, 20 launches" in text
    every = "1.8 to 2.4 ms (shortest to longest), 20 launches"
    assert f"**95 % confidence interval of the median:** {every}" in text
    assert "**Share of the FP32 peak:** 9.8 %" in text
    assert tile["verdict"] == "failed"
    assert {value for name, value in tile.items() if name not in {"rung", "verdict"}} == {"-"}


def test_the_ceiling_and_the_peak_are_said() -> None:
    text = as_markdown(CLIMB)
    assert "FP32 peak: 10 SMs x 128 lanes x 2 x 1,000 MHz = 2,560 GFLOP/s." in text
    assert "SGEMM of cuBLAS 13.0.2 through CuPy 14.2.0, TF32 off" in text
    assert "1 ms (0.99 to 1.01 ms), 2,000 GFLOP/s, 78 % of the peak." in text
    assert "medians of 20 launches after 5 warm-up launches, timed by CUDA events" in text
    assert "the largest relative error is 3.1e-07" in text


@pytest.mark.parametrize(
    ("nanoseconds", "unit", "naive", "fastest"),
    [(2e4, "GFLOP/s", "250", "100,000"), (1.99e4, "TFLOP/s", "0.25", "100.5")],
)
def test_rates_have_one_unit_that_fits_the_largest(
    nanoseconds: float, unit: str, naive: str, fastest: str
) -> None:
    """2 GFLOP in 20 us are 100,000 GFLOP/s, in 19.9 us 100.5 TFLOP/s; in 8 ms they are 250."""
    climb = replace(
        CLIMB, rungs=(NAIVE, replace(COALESCED, timing=timing(nanoseconds))), ceiling=None
    )
    text = as_markdown(climb)
    table = rows(text, "## Time and verdict")
    assert [row[unit] for row in table] == [naive, fastest]
    assert f"**Its rate:** {fastest} {unit}, " in text
    peak = {"GFLOP/s": "2,560 GFLOP/s", "TFLOP/s": "2.56 TFLOP/s"}[unit]
    assert f"x 1,000 MHz = {peak}." in text
    other = {"GFLOP/s": "TFLOP/s", "TFLOP/s": "GFLOP/s"}[unit]
    assert other not in text


def test_the_bars_have_the_unit_of_the_table() -> None:
    climb = replace(CLIMB, rungs=(NAIVE, replace(COALESCED, timing=timing(1e4))))
    chart = chart_of(document(climb).blocks, "climb")
    assert chart.kind == "climb:tflops"
    assert chart.label.startswith("TFLOP/s of each rung")
    assert [row.rate for row in chart.rows] == [0.25, 200, 2, 2.56]
    texts = [row.text.partition(":")[0] for row in chart.rows]
    assert texts == ["0.25", "200", "cuBLAS 2", "FP32 peak 2.56"]
    assert ">TFLOP/s<" in draw(chart.kind, chart.rows)
    assert ">GFLOP/s<" in draw("climb", ())
    assert 'data-chart="climb:tflops"' in html.write(document(climb))


def test_every_rung_that_changes_this_one_has_its_gain() -> None:
    climb = replace(
        CLIMB, rungs=(*CLIMB.rungs[:2], replace(TILE, timing=timing(1e6), error=None), ROLLED)
    )
    assert rows(as_markdown(climb), "## Time and verdict")[1]["next rung gained"] == "3: 2.0x"
    both = replace(climb, rungs=(*climb.rungs[:3], replace(ROLLED, timing=timing(4e6))))
    gains = rows(as_markdown(both), "## Time and verdict")[1]["next rung gained"]
    assert gains == "3: 2.0x, 4: 0.50x"


def test_bytes_and_their_multiples() -> None:
    text = as_markdown(CLIMB)
    assert "At least 12 MB must be moved" in text
    assert "With 2 GFLOP, the arithmetic intensity is at most 166.7 FLOP per byte." in text
    naive, coalesced, tile = rows(text, "## Bytes")
    assert naive == {
        "rung": "1 Naive",
        "requested by threads": "24 GB (2,000x)",
        "through L1": "96 GB (8,000x)",
        "through L2": "1.2 GB (100x)",
        "device memory": "10 MB (0.83x)",
        "FLOP per byte of device memory": "200",
        "FLOP per byte requested": "0.083",
    }
    assert coalesced["requested by threads"] == "24 GB (2,000x)"
    assert coalesced["device memory"] == coalesced["through L1"] == "-"
    assert coalesced["FLOP per byte of device memory"] == "-"
    assert {value for name, value in tile.items() if name != "rung"} == {"-"}


def test_what_failed_is_a_warning() -> None:
    failed = "- Warning: failed: the result is wrong (03_shared_tile.cu: C, see the index)"
    assert failed in as_markdown(CLIMB)
    assert "Warning" not in as_markdown(replace(CLIMB, rungs=(NAIVE, COALESCED)))


def test_nothing_known_is_all_dashes() -> None:
    nothing = replace(
        CLIMB,
        surroundings=Surroundings(),
        ceiling=None,
        ceiling_error=ErrorFacts("cuBLAS was not measured: CuPy is not installed here"),
        rungs=(ROLLED,),
    )
    text = as_markdown(nothing)
    assert text.startswith("# The GEMM ladder on an unknown GPU\n")
    assert "Ceiling: cuBLAS was not measured: CuPy" in text
    assert "No rung was timed." in text
    assert "The FP32 peak of this GPU is unknown" in text
    (row,) = rows(text, "## Time and verdict")
    assert {value for name, value in row.items() if name != "rung"} == {"-"}
    for heading in ("## Bytes", "## Failed"):
        assert heading not in text
    assert "nan" not in text
    assert "None" not in text


def test_the_report_is_markdown_whose_tables_hold_and_whose_links_lead_somewhere() -> None:
    text = as_markdown(CLIMB)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert sum(token.type == "table_open" for token in tokens) == 2
    inline = [token.content for token in tokens if token.type == "inline"]
    assert not [content for content in inline if content.startswith("|")]
    for rung in CLIMB.rungs:
        assert f"(#rung-{rung.number})" in text
        assert f'<a id="rung-{rung.number}"></a>' in text


def test_charts_leave_nothing_in_markdown() -> None:
    for absent in ("The climb", "roofline", "dark bars"):
        assert absent not in as_markdown(CLIMB)


def test_an_error_of_a_compiler_cannot_break_the_page() -> None:
    error = ErrorFacts("a | b\n# c <b> `d", "x\x1b[31m")
    text = as_markdown(replace(CLIMB, rungs=(replace(TILE, error=error),)))
    (line,) = [line for line in text.splitlines() if line.startswith("- Warning: failed")]
    assert "<b>" not in line
    assert "\x1b" not in text


def test_a_climb_in_turns_with_cublas_has_a_part_of_it_at_each_size() -> None:
    """2 GFLOP in 1 ms are 2 TFLOP/s, by the middle one of three rounds 1.02 times cuBLAS'."""
    text = as_markdown(BF16)
    assert text.startswith("# The BF16 GEMM ladder on Some GPU\n")
    top = "From 8 ms to 1 ms at 1000 over 2 rungs: 99.0 % of cuBLAS at 500, 102.0 % at 1000."
    assert f"**{top}**" in text
    naive, coalesced = rows(text, "## Time and verdict")
    assert naive == {
        "rung": "[1 Naive](#rung-1)",
        "verdict": "`uncoalesced-global-access`",
        "confidence": "high",
        "TFLOP/s at 500": "2",
        "of cuBLAS at 500": "11.0 % (10.0 to 12.0)",
        "TFLOP/s at 1000": "0.25",
        "of cuBLAS at 1000": "20.0 % (10.0 to 30.0)",
        "gain": "-",
        "expected gain": "3.4x",
        "next rung gained": "2: 8.0x",
    }
    assert coalesced["of cuBLAS at 1000"] == "102.0 % (101.9 to 103.0)"
    assert coalesced["gain"] == "8.0x"
    assert (
        "**M = N = K = 1000:** 8 ms (8 to 8 ms), 0.25 TFLOP/s; cuBLAS 1.6 ms (0.8 to 2.4 ms), "
        "1.25 TFLOP/s; 20.0 % (10.0 to 30.0) of cuBLAS in 3 rounds"
    ) in text


def test_a_product_in_bf16_is_held_against_the_tensor_cores() -> None:
    """10 SMs x 2048 x 2 x 1 GHz = 40.96 TFLOP/s, of which 2 are 4.9 %."""
    text = as_markdown(BF16)
    assert "BF16, FP32 accumulation, row-major, B is &#91;N, K&#93;" in text
    assert "M = N = K = 500 and 1000. GPU: Some GPU" in text
    peak = "10 SMs x 2048 multiply-adds of tensor cores x 2 x 1,000 MHz = 40.96 TFLOP/s."
    assert f"BF16 tensor peak: {peak}" in text
    assert "**Share of the BF16 tensor peak:** 4.9 %" in text
    assert "GemmEx in BF16 of cuBLAS 13.0.2 through CuPy 14.2.0, FP32 accumulation" in text
    assert "FP32 peak" not in text
    assert "TF32" not in text
    assert "SGEMM" not in text


def test_bytes_that_no_counter_has_for_such_kernels_are_left_out() -> None:
    (naive, _) = rows(as_markdown(BF16), "## Bytes")
    assert list(naive) == [
        *("rung", "through L2", "device memory", "FLOP per byte of device memory")
    ]
    assert naive["through L2"] == "1.2 GB (100x)"


def test_the_method_says_how_they_took_turns() -> None:
    text = as_markdown(BF16)
    assert "Each rung alternates with cuBLAS for at most 3 rounds and 20 launches" in text
    assert "Profiles, and numbers without a size, are for size 1000." in text


@pytest.mark.parametrize(
    ("chip", "peak"),
    [
        (("9.0", 132, 1980.0), 66_908.16),
        (("8.0", 108, 1410.0), 19_491.84),
        (("99.0", 10, 1000.0), None),
        (("9.0", None, 1000.0), None),
        (("9.0", 10, None), None),
        ((None, 10, 1000.0), None),
    ],
)
def test_the_peak(chip: Chip, peak: float | None) -> None:
    assert _peak(chip, Product()) == (None if peak is None else pytest.approx(peak))
    assert fp32_lanes(chip[0]) or peak is None


@pytest.mark.parametrize(
    ("chip", "teraflops"),
    [(("9.0", 132, 1830.0), 989.4), (("8.0", 108, 1410.0), 311.9), (("8.6", 84, 1695.0), None)],
)
def test_the_tensor_peak_is_that_of_the_data_sheet_at_its_clock(
    chip: Chip, teraflops: float | None
) -> None:
    expected = None if teraflops is None else pytest.approx(teraflops * 1e3, rel=1e-3)
    assert _peak(chip, Product("bfloat16", "nt", "normal")) == expected


def _peak(chip: Chip, product: Product) -> float | None:
    capability, multiprocessors, clock = chip
    known = Surroundings(
        compute_capability=capability, multiprocessors=multiprocessors, max_sm_mhz=clock
    )
    return peak_gflops(known, product)
