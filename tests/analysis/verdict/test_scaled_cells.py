"""A single wrong cell gives the same verdict, less confidence or a warning; never a silent flip."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.analysis.verdict.support import CAPTURES

from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.analysis.verdict.ranking import grade, judge
from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture

FACTORS = (0.0, 10.0, 1000.0)
RANK = {Confidence.LOW: 0, Confidence.MEDIUM: 1, Confidence.HIGH: 2}
NAMES = {name for metric in catalogue().values() for name in metric.all_ncu_names()}

LEFT = {
    "gemm_series.full.raw.csv": 2,
    "validation/raw.csv.gz": 26,
    "validation/more.raw.csv.gz": 10,
    "validation/frameworks.raw.csv.gz": 12,
    "validation/frameworks_more.raw.csv.gz": 12,
}
"""Flips that no relation between metrics shows; the numbers may only fall. Before there were any
relations, the first capture had 99."""

Answer = tuple[str | None, Confidence, bool]
"""The bottleneck, if one is named, the confidence, and whether a contradiction is warned of."""


def answers(capture: Capture, known: frozenset[tuple[str, str]]) -> list[Answer]:
    judged = judge(capture)
    facts = judged.context.facts
    warned = np.zeros(len(capture), dtype=np.bool_)
    for doubt in facts.doubts:
        if (doubt.names, doubt.reason) not in known:
            warned |= doubt.rows
    found: list[Answer] = []
    for row in range(len(capture)):
        if judged.status(row) is Status.INCONCLUSIVE:
            found.append((None, Confidence.LOW, bool(warned[row])))
            continue
        rule = judged.rule(row)
        graded = grade(judged.context, judged.ranking, rule, row)
        found.append((rule.slug, graded.confidence, bool(warned[row])))
    return found


def silent_flips(name: str) -> list[str]:
    """Every cell that turns a verdict into another one without a sign of doubt."""
    capture = read_capture(CAPTURES / name)
    known = frozenset((each.names, each.reason) for each in judge(capture).context.facts.doubts)
    before = answers(capture, known)
    flips = []
    for column in capture.columns.values():
        if column.name not in NAMES:
            continue
        for factor in FACTORS:
            scaled = replace(column, values=column.values * factor)
            changed = replace(capture, columns={**capture.columns, column.name: scaled})
            for row, after in enumerate(answers(changed, known)):
                value = column.values[row]
                if before[row][0] is None or not value > 0:
                    continue
                safe = after[0] in {before[row][0], None} or after[2]
                if not safe and RANK[after[1]] >= RANK[before[row][1]]:
                    flips.append(f"{column.name} x {factor:g}, launch {row}: {after[0]}")
    return flips


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name.startswith("gemm") else pytest.mark.slow("thousands"))
        for name in LEFT
    ],
)
def test_one_scaled_cell_never_flips_a_verdict_silently(name: str) -> None:
    flips = silent_flips(name)
    sys.stdout.write(f"{name}: {len(flips)} silent flips are left\n")
    assert len(flips) <= LEFT[name], "\n".join(flips)


def test_the_cells_that_misled_0_1_0_are_seen_now() -> None:
    """Device memory at 101 %, no thread per instruction, no share for 419 million wavefronts."""
    capture = read_capture(CAPTURES / "gemm_series.full.raw.csv")
    for name, value in (
        ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 101.0),
        ("smsp__thread_inst_executed_per_inst_executed.ratio", 0.0),
        ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed", 0.0),
        ("gpu__time_duration.sum", 1e-30),
    ):
        column = capture.columns[name]
        changed = replace(column, values=np.full_like(column.values, value))
        facts = judge(replace(capture, columns={**capture.columns, name: changed})).context.facts
        seen = np.logical_or.reduce([each.rows for each in facts.doubts])
        wrong = np.abs(column.values - value) > 1.0
        used = ~np.isnan(column.values) & wrong
        if "wavefronts" in name:
            used &= column.values > 0.2
        if "dram" in name:
            used &= capture.columns[_WHOLE].values < 95.0
        assert used.any()
        assert seen[used].all(), name


_WHOLE = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
