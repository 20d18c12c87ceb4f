"""The reports of a climb whose figures are round, so that each cell can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from tests.ladder.samples import CLIMB, COALESCED, NAIVE, ROLLED, TILE, timing

from kernelprof.analysis.metrics.architectures import fp32_lanes
from kernelprof.ladder.drilldown_report import render_drilldown_report
from kernelprof.ladder.figures import peak_gflops, timing_with
from kernelprof.ladder.published import published
from kernelprof.ladder.registry import ladder
from kernelprof.ladder.report import render_report
from kernelprof.ladder.results import Surroundings, Trouble
from kernelprof.launch.read_spec import load_spec


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


def test_the_heading_says_what_was_climbed_on_what_and_how() -> None:
    title, _, what, how, *_ = render_report(CLIMB).splitlines()
    assert title == "# The GEMM ladder on Some GPU"
    assert what == (
        "FP32, row-major, M = N = K = 1000. GPU: Some GPU (compute capability 9.0, 10 SMs, at "
        "most 1,000 MHz)."
    )
    assert how == (
        "Measured on 2026-11-21 with driver 580.1, CUDA 13.0, nvcc 13.0.88, Nsight Compute "
        "2025.3.1.0 (--clock-control none), kernelprof 0.1.0."
    )
    assert "```sh\nkernelprof ladder run -o ladder.md\n```" in render_report(CLIMB)


def test_times_rates_and_shares() -> None:
    """2 GFLOP in 8 ms are 250 GFLOP/s; the peak is 10 SMs x 128 x 2 x 1 GHz = 2,560 GFLOP/s."""
    naive, coalesced, tile = rows(render_report(CLIMB), "## Time and verdict")
    assert naive == {
        "#": "1",
        "rung": "Naive",
        "verdict": "`uncoalesced-global-access`",
        "confidence": "high",
        "time": "8 ms",
        "95 % confidence": "7.92 to 8.08 ms",
        "GFLOP/s": "250",
        "of cuBLAS": "12 %",
        "of peak": "9.8 %",
        "gain at most": "3.4x",
        "next rung gained": "2: 4.0x",
    }
    assert coalesced["GFLOP/s"] == "1,000"
    assert coalesced["of cuBLAS"] == "50 %"
    assert coalesced["95 % confidence"] == "1.8 to 2.4 ms (all)"
    assert coalesced["gain at most"] == "at limit"
    assert coalesced["next rung gained"] == "-"
    assert tile["time"] == "failed"
    assert {value for name, value in tile.items() if name not in {"#", "rung", "time"}} == {"-"}


def test_the_ceiling_and_the_peak_are_said() -> None:
    text = render_report(CLIMB)
    assert "FP32 peak: 10 SMs x 128 lanes x 2 x 1,000 MHz = 2,560 GFLOP/s." in text
    assert "SGEMM of cuBLAS 13.0.2 through CuPy 14.2.0, TF32 off" in text
    assert "1 ms (0.99 to 1.01 ms), 2,000 GFLOP/s, 78 % of the peak." in text
    assert "medians of 20 launches by CUDA events after 5 of warm-up" in text
    assert "the largest relative error is 3.1e-07" in text


def test_every_rung_that_changes_this_one_has_its_gain() -> None:
    climb = replace(
        CLIMB, rungs=(*CLIMB.rungs[:2], replace(TILE, timing=timing(1e6), error=None), ROLLED)
    )
    assert rows(render_report(climb), "## Time and verdict")[1]["next rung gained"] == "3: 2.0x"
    both = replace(climb, rungs=(*climb.rungs[:3], replace(ROLLED, timing=timing(4e6))))
    gains = rows(render_report(both), "## Time and verdict")[1]["next rung gained"]
    assert gains == "3: 2.0x, 4: 0.50x"


def test_bytes_and_their_multiples() -> None:
    text = render_report(CLIMB)
    assert "At least 12 MB have to move" in text
    assert "For 2 GFLOP that would be 166.7 FLOP per byte." in text
    naive, coalesced, tile = rows(text, "## Bytes")
    assert naive == {
        "#": "1",
        "rung": "Naive",
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
    assert {value for name, value in tile.items() if name not in {"#", "rung"}} == {"-"}


def test_a_sweep_is_measured_against_the_rungs_own_defines() -> None:
    table = rows(render_report(CLIMB), "## Other sizes of blocks and tiles")
    assert [(row["defines"], row["time"], row["against its own"]) for row in table] == [
        ("`BLOCK = 32`", "8 ms", "1.00x"),
        ("`BLOCK = 16`", "4 ms", "2.0x"),
        ("`BLOCK = 64`", "failed: a block of 64x64 has 4096 threads", "-"),
        ("`BLOCK = 32`", "2 ms", "1.00x"),
        ("`BLOCK = 16`", "1 ms", "2.0x"),
    ]
    assert table[1]["GFLOP/s"] == "500"


def test_published_ratios_stand_beside_ours() -> None:
    text = render_report(CLIMB)
    a6000 = rows(text, "### NVIDIA RTX A6000, N = 4092")
    assert a6000[0]["of cuBLAS there"] == "1.3 %"
    assert a6000[0]["of cuBLAS here"] == "12 %"
    assert (a6000[1]["ratio there"], a6000[1]["ratio here"]) == ("6.4x", "4.0x")
    assert (a6000[2]["ratio there"], a6000[2]["ratio here"]) == ("1.50x", "-")
    assert a6000[-1]["of cuBLAS there"] == "94 %"
    rtx = {row["step"]: row for row in rows(text, "### NVIDIA GeForce RTX 5060, N = 2048")}
    assert rtx["coalesced"]["ratio there"] == "4.1x"
    assert rtx["coalesced"]["ratio here"] == "4.0x"  # 4 ms and 1 ms with BLOCK = 16
    assert rtx["the barrier removed"]["ratio there"] == "1.06x"
    assert rtx["tile 16x16, not unrolled"]["ratio there"] == "0.91x"
    assert rtx["tile 16x16, unrolled"]["ratio there"] == "1.48x"
    assert rtx["block 8x8, not unrolled"]["ratio there"] == "0.84x"


def test_what_the_naive_kernel_asks_for_is_counted_as_it_was_published() -> None:
    """Counted with C read as well, 16 bytes an element have to move: 24 GB over 16 MB."""
    text = render_report(CLIMB)
    assert "asks for 548 GB where 268 MB would do" in text
    assert ": 2,045x. Counted in the same way it is 24 GB and 16 MB here: 1,500x." in text
    without = replace(CLIMB, rungs=(replace(NAIVE, traffic=None), COALESCED))
    assert "Counted in the same way" not in render_report(without)


def test_what_failed_is_listed() -> None:
    text = render_report(CLIMB)
    assert "- `03_shared_tile.cu`: the result is wrong (03_shared_tile.cu: C)" in text
    assert "## Failed" not in render_report(replace(CLIMB, rungs=(NAIVE, COALESCED)))


def test_nothing_known_is_all_dashes() -> None:
    nothing = replace(
        CLIMB,
        surroundings=Surroundings(),
        ceiling=None,
        ceiling_error=Trouble("cuBLAS was not measured: CuPy is not installed here"),
        rungs=(ROLLED,),
    )
    text = render_report(nothing)
    assert text.startswith("# The GEMM ladder on an unknown GPU\n")
    assert "Ceiling: cuBLAS was not measured (cuBLAS was not measured: CuPy" in text
    assert "No rung was timed." in text
    assert "The FP32 peak of this GPU is not known here" in text
    (row,) = rows(text, "## Time and verdict")
    assert {value for name, value in row.items() if name not in {"#", "rung"}} == {"-"}
    for heading in ("## Bytes", "## Other sizes", "## Failed"):
        assert heading not in text
    assert "nan" not in text
    assert "None" not in text


def test_the_drill_down_beside_the_full_set() -> None:
    text = render_drilldown_report(CLIMB)
    assert text.startswith("# The drill-down on the GEMM ladder on Some GPU\n")
    assert "- Same bottleneck as `ncu --set full`: 1 of 2 rungs; not `02_coalesced.cu`." in text
    assert "- At most half of its passes: 1 of 2 rungs; not `02_coalesced.cu`." in text
    assert "- All rungs together: 29 of 76 passes, 38 %." in text
    naive, coalesced, total = rows(text, "76 passes, 38 %.")
    assert naive["drill-down"] == "`uncoalesced-global-access` (high)"
    assert (naive["same"], naive["passes"], naive["seconds"]) == ("yes", "9", "0.9")
    assert (naive["passes, `--set full`"], naive["share of its passes"]) == ("38", "24 %")
    assert (coalesced["same"], coalesced["runs"]) == ("no", "3")
    assert coalesced["passes, `full`"] == "-"
    assert (total["passes"], total["passes, `full`"]) == ("29", "-")
    assert total["seconds, `--set full`"] == "7.6"


def test_a_drill_down_without_a_full_set_says_so() -> None:
    alone = replace(CLIMB, rungs=(replace(NAIVE, full_set=None),))
    text = render_drilldown_report(alone)
    assert "`ncu --set full` was not run" in text
    assert rows(text, "nothing to compare with.")[0]["same"] == "-"


def test_the_reports_are_markdown_whose_tables_hold() -> None:
    parser = MarkdownIt("commonmark").enable("table")
    for text, tables in ((render_report(CLIMB), 5), (render_drilldown_report(CLIMB), 1)):
        tokens = parser.parse(text)
        assert sum(token.type == "table_open" for token in tokens) == tables
        inline = [token.content for token in tokens if token.type == "inline"]
        assert not [content for content in inline if content.startswith("|")]


def test_an_error_of_a_compiler_cannot_break_the_page() -> None:
    error = Trouble("a | b\n# c <b> `d", "x\x1b[31m")
    text = render_report(replace(CLIMB, rungs=(replace(TILE, error=error),)))
    (line,) = [line for line in text.splitlines() if line.startswith("- `03_shared_tile.cu`")]
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


def test_a_timing_is_found_by_all_defines() -> None:
    own = timing_with(CLIMB, "01_naive.cu", {"BLOCK": 32})
    assert own is NAIVE.timing
    half = timing_with(CLIMB, "01_naive.cu", {"BLOCK": 16})
    assert half is not None
    assert half.median_ns == 4e6
    assert timing_with(CLIMB, "01_naive.cu", {"BLOCK": 8}) is None
    assert timing_with(CLIMB, "13_double_buffered.cu", {}) is None


def test_published_steps_are_ones_that_a_sweep_measures() -> None:
    rungs = {rung.file: rung for rung in ladder()}
    for gpu in published():
        names = [step.what for step in gpu.steps]
        assert len(set(names)) == len(names)
        assert gpu.source
        assert gpu.asked is None or gpu.asked.rung in rungs
        for step in gpu.steps:
            assert step.against is None or step.against in names[: names.index(step.what)]
            assert 0 < step.gflops < gpu.cublas_gflops
            if step.rung is None:
                continue
            own = dict(load_spec(rungs[step.rung].path).compile.defines)
            measured = [own, *({**own, **variant} for variant in rungs[step.rung].variants)]
            assert {**own, **step.defines} in measured, step.what
