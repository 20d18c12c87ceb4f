"""The reports of a climb whose figures are round, so that each cell can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from tests.ladder.samples import CLIMB, COALESCED, NAIVE, ROLLED, TILE, timing

from kernelprof.analysis.metrics.architectures import fp32_lanes
from kernelprof.ladder.registry import ladder
from kernelprof.ladder.results import Climb, Surroundings, Trouble, peak_gflops
from kernelprof.report.documents.ladder import document
from kernelprof.report.writers import markdown


def as_markdown(climb: Climb) -> str:
    return markdown.write(document(climb, ladder()), largest=None, level=1)


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
    assert "**95 % confidence of the median:** 7.92 to 8.08 ms, 20 launches" in text
    assert "**95 % confidence of the median:** 1.8 to 2.4 ms (all), 20 launches" in text
    assert "**Of the FP32 peak:** 9.8 %" in text
    assert tile["verdict"] == "failed"
    assert {value for name, value in tile.items() if name not in {"rung", "verdict"}} == {"-"}


def test_the_ceiling_and_the_peak_are_said() -> None:
    text = as_markdown(CLIMB)
    assert "FP32 peak: 10 SMs x 128 lanes x 2 x 1,000 MHz = 2,560 GFLOP/s." in text
    assert "SGEMM of cuBLAS 13.0.2 through CuPy 14.2.0, TF32 off" in text
    assert "1 ms (0.99 to 1.01 ms), 2,000 GFLOP/s, 78 % of the peak." in text
    assert "medians of 20 launches by CUDA events after 5 of warm-up" in text
    assert "the largest relative error is 3.1e-07" in text


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
    assert "At least 12 MB have to move" in text
    assert "For 2 GFLOP that would be 166.7 FLOP per byte." in text
    naive, coalesced, tile = rows(text, "## Bytes")
    assert naive == {
        "rung": "1 Naive",
        "asked by threads": "24 GB (2,000x)",
        "through L1": "96 GB (8,000x)",
        "through L2": "1.2 GB (100x)",
        "device memory": "10 MB (0.83x)",
        "FLOP per byte of device memory": "200",
        "FLOP per byte asked": "0.083",
    }
    assert coalesced["asked by threads"] == "24 GB (2,000x)"
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
        ceiling_error=Trouble("cuBLAS was not measured: CuPy is not installed here"),
        rungs=(ROLLED,),
    )
    text = as_markdown(nothing)
    assert text.startswith("# The GEMM ladder on an unknown GPU\n")
    assert "Ceiling: cuBLAS was not measured (cuBLAS was not measured: CuPy" in text
    assert "No rung was timed." in text
    assert "The FP32 peak of this GPU is not known here" in text
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
    for absent in ("The climb", "roofline", "Dark bars"):
        assert absent not in as_markdown(CLIMB)


def test_an_error_of_a_compiler_cannot_break_the_page() -> None:
    error = Trouble("a | b\n# c <b> `d", "x\x1b[31m")
    text = as_markdown(replace(CLIMB, rungs=(replace(TILE, error=error),)))
    (line,) = [line for line in text.splitlines() if line.startswith("- Warning: failed")]
    assert "<b>" not in line
    assert "\x1b" not in text


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
def test_the_peak(chip: tuple[str | None, int | None, float | None], peak: float | None) -> None:
    capability, multiprocessors, clock = chip
    found = peak_gflops(
        Surroundings(
            compute_capability=capability, multiprocessors=multiprocessors, max_sm_mhz=clock
        )
    )
    assert found == (None if peak is None else pytest.approx(peak))
    assert fp32_lanes(capability) or peak is None
