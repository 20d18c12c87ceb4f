"""Values that cannot be: a sample here, all of them in ``make attack``."""

from __future__ import annotations

import pytest
from tests.fuzz.cells import columns_read, find_flips
from tests.support.captures import CAPTURES
from tests.support.few import part_of

from kernelprof.sources import read_capture

PARTS = 16
"""Of the columns that a rule reads."""


@pytest.mark.parametrize("part", part_of(PARTS, range(PARTS), why="judges thousands of cells"))
def test_no_value_flips_a_verdict_silently(part: int) -> None:
    capture = read_capture(CAPTURES / "gemm_series.full.raw.csv")
    columns = columns_read(capture)[part::PARTS]
    tried, flips = find_flips(capture, columns)
    assert tried > 500
    assert not flips


@pytest.mark.parametrize(
    ("path", "column"),
    [
        ("validation/raw.csv.gz", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"),
        *(
            (
                "validation/raw.csv.gz",
                f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum.per_cycle_elapsed",
            )
            for name in ("fadd", "ffma", "fmul")
        ),
        ("validation/raw.csv.gz", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed"),
        (
            "validation/raw.csv.gz",
            "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum.per_cycle_elapsed",
        ),
        ("validation/more.raw.csv.gz", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"),
        (
            "validation/more.raw.csv.gz",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum.pct_of_peak_sustained_elapsed",
        ),
        (
            "bf16/tops.raw.csv.gz",
            "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_elapsed",
        ),
    ],
)
def test_a_cell_that_another_counter_contradicts_flips_nothing(path: str, column: str) -> None:
    _, flips = find_flips(read_capture(CAPTURES / path), [column])
    assert not flips
