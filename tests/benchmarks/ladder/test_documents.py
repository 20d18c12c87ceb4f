"""What was measured on the ladder, with round figures, so that each cell can be worked out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from benchmarks.ladder.documents import drilldown, sweep
from benchmarks.ladder.measure import timing_with
from benchmarks.ladder.published import published
from markdown_it import MarkdownIt
from tests.benchmarks.ladder.samples import MEASURED
from tests.ladder.samples import BF16, CLIMB, COALESCED, NAIVE

from kernelprof.ladder.registry import find_ladder
from kernelprof.launch.specification.reader import load_spec
from kernelprof.report.writers import markdown

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.ladder.measure import Measurements

    from kernelprof.ladder.results import Climb
    from kernelprof.report.document import Document


def as_markdown(
    document: Callable[[Climb, Measurements], Document], climb: Climb, measured: Measurements
) -> str:
    return markdown.write(document(climb, measured), largest=None, level=1)


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


def test_a_sweep_is_measured_against_the_rungs_own_defines() -> None:
    table = rows(as_markdown(sweep, CLIMB, MEASURED), "## Other sizes of blocks and tiles")
    assert [(row["defines"], row["time"], row["against its own"]) for row in table] == [
        ("`BLOCK = 32`", "8 ms", "1.00x"),
        ("`BLOCK = 16`", "4 ms", "2.0x"),
        ("`BLOCK = 64`", "failed: a block of 64x64 has 4096 threads", "-"),
        ("`BLOCK = 32`", "2 ms", "1.00x"),
        ("`BLOCK = 16`", "1 ms", "2.0x"),
    ]
    assert table[1]["GFLOP/s"] == "500"


def test_published_ratios_stand_beside_ours() -> None:
    text = as_markdown(sweep, CLIMB, MEASURED)
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


def test_figures_of_another_ladder_are_not_put_beside() -> None:
    text = as_markdown(sweep, BF16, MEASURED)
    assert text.startswith("# Other block shapes on the BF16 GEMM ladder on Some GPU\n")
    assert "Beside published figures" not in text


def test_what_the_naive_kernel_asks_for_is_counted_as_it_was_published() -> None:
    """Counted with C read as well, 16 bytes an element have to move: 24 GB over 16 MB."""
    text = as_markdown(sweep, CLIMB, MEASURED)
    assert "asks for 548 GB where 268 MB would do" in text
    assert ": 2,045x. Counted in the same way it is 24 GB and 16 MB here: 1,500x." in text
    without = replace(CLIMB, rungs=(replace(NAIVE, traffic=None), COALESCED))
    assert "Counted in the same way" not in as_markdown(sweep, without, MEASURED)


def test_the_drill_down_beside_the_full_set() -> None:
    text = as_markdown(drilldown, CLIMB, MEASURED)
    assert text.startswith("# The drill-down on the GEMM ladder on Some GPU\n")
    assert "- Same bottleneck as `ncu --set full`: 1 of 2 rungs; not `02_coalesced.cu`." in text
    assert "- At most half of its passes: 1 of 2 rungs; not `02_coalesced.cu`." in text
    assert "- All rungs together: 29 of 76 passes, 38 %." in text
    naive, coalesced, total = rows(text, "76 passes, 38 %.")
    assert naive["drill-down"] == "`uncoalesced-global-access` (high)"
    assert (naive["same"], naive["passes"], naive["seconds"]) == ("yes", "9", "0.9")
    assert (naive["passes, --set full"], naive["share of its passes"]) == ("38", "24 %")
    assert (coalesced["same"], coalesced["runs"]) == ("no", "3")
    assert coalesced["passes, full"] == "-"
    assert (total["passes"], total["passes, full"]) == ("29", "-")
    assert total["seconds, --set full"] == "7.6"


def test_a_drill_down_without_a_full_set_says_so() -> None:
    alone = replace(MEASURED, rungs=(replace(MEASURED.rungs[0], full_set=None),))
    text = as_markdown(drilldown, CLIMB, alone)
    assert "`ncu --set full` was not run" in text
    assert rows(text, "nothing to compare with.")[0]["same"] == "-"


def test_a_timing_is_found_by_all_defines() -> None:
    own = timing_with(CLIMB, MEASURED, "01_naive.cu", {"BLOCK": 32})
    assert own is NAIVE.timing
    half = timing_with(CLIMB, MEASURED, "01_naive.cu", {"BLOCK": 16})
    assert half is not None
    assert half.median_ns == 4e6
    assert timing_with(CLIMB, MEASURED, "01_naive.cu", {"BLOCK": 8}) is None
    assert timing_with(CLIMB, MEASURED, "13_double_buffered.cu", {}) is None


def test_published_steps_are_ones_that_a_sweep_measures() -> None:
    for gpu in published():
        rungs = {rung.file: rung for rung in find_ladder(gpu.ladder).rungs}
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


@pytest.mark.parametrize(("document", "tables"), [(drilldown, 1), (sweep, 3)])
def test_the_reports_are_markdown_whose_tables_hold(document, tables: int) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(as_markdown(document, CLIMB, MEASURED))
    assert sum(token.type == "table_open" for token in tokens) == tables
    inline = [token.content for token in tokens if token.type == "inline"]
    assert not [content for content in inline if content.startswith("|")]
