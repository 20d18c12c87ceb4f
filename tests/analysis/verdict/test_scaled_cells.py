"""A single wrong cell gives the same verdict, less confidence or a warning; never a silent flip."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.analysis.verdict.support import CAPTURES
from tests.support.captures import PAIRS, RECORDED, captured
from tests.support.few import part_of

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.verdict import diagnose
from kernelprof.analysis.verdict.ranking import grade_verdict, rank_bottlenecks
from kernelprof.model.capture import Launches
from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.analysis.verdict.ranking import Judgement
    from kernelprof.model.capture import Capture

FACTORS = (0.0, 10.0, 1000.0)
RANK = {Confidence.LOW: 0, Confidence.MEDIUM: 1, Confidence.HIGH: 2}
NAMES = {name for metric in load_metrics().values() for name in metric.all_ncu_names()}

LEFT = {
    "gemm_series": 2,
    "exports": 163,
    "recorded": 70,
    "directories": 47,
    "tensor_exports": 38,
    "tensor_recorded": 59,
    "tensor_ladder": 11,
    "surveyed": 29,
}
"""Flips that no relation between metrics shows, by group of captures; they may only become fewer
for the same captures: five pairs brought 12 of those of ``tensor_recorded``. Before there were any
relations, the first export alone had 99."""

SILENT = {"source_page", "sanitizer", "peers", "ncu_behaviour"}
EXPORTS = sorted(
    path
    for path in CAPTURES.rglob("*")
    if path.name.endswith(("raw.csv", "raw.csv.gz"))
    and not SILENT & set(path.parts)
    and not (path.parent / "manifest.json").is_file()
)
TENSOR = CAPTURES / "bf16"
SURVEYED = CAPTURES / "surveyed"
"""Kernels of PyTorch's libraries, each in a launch of its own."""


def _counts_bulk_copies(manifest: Path) -> bool:
    """Whether a capture has the counters of TMA, as those of kernels for tensor cores do."""
    return "op_tma_ld" in manifest.read_text("utf-8")


RECORDINGS = [path for folder in (RECORDED, PAIRS) for path in folder.rglob("manifest.json")]
GROUPS = {
    "gemm_series": [CAPTURES / "gemm_series.full.raw.csv"],
    "exports": [
        path
        for path in EXPORTS
        if path.name != "gemm_series.full.raw.csv" and path.parent != TENSOR
    ],
    "recorded": sorted(path.parent for path in RECORDINGS if not _counts_bulk_copies(path)),
    "tensor_exports": [path for path in EXPORTS if path.parent == TENSOR],
    "tensor_recorded": sorted(
        path.parent
        for path in RECORDINGS
        if _counts_bulk_copies(path) and not path.is_relative_to(RECORDED / "h200-bf16")
    ),
    "tensor_ladder": sorted(
        path.parent for path in (RECORDED / "h200-bf16").rglob("manifest.json")
    ),
    "directories": sorted(
        path.parent
        for path in CAPTURES.rglob("manifest.json")
        if not {*SILENT, SURVEYED.name} & set(path.parts)
    ),
    "surveyed": sorted(path.parent for path in SURVEYED.rglob("manifest.json")),
}


def variants(capture: Capture, row: int) -> tuple[Capture, list[str]]:
    """One launch as it is, and once for each cell and factor with that cell scaled."""
    columns = [
        each for each in capture.columns.values() if each.name in NAMES and each.values[row] > 0
    ]
    count = 1 + len(columns) * len(FACTORS)
    told = ["as it is"]
    scaled = {name: np.full(count, each.values[row]) for name, each in capture.columns.items()}
    for at, each in enumerate(columns):
        for step, factor in enumerate(FACTORS):
            scaled[each.name][1 + at * len(FACTORS) + step] *= factor
            told.append(f"{each.name} x {factor:g}")
    launch = capture.launches[row]
    copies = Launches([launch.id] * count, np.zeros(count, dtype=np.intp), [launch])
    made = {name: replace(each, values=scaled[name]) for name, each in capture.columns.items()}
    text = {name: (cells[row],) * count for name, cells in capture.text.items()}
    return replace(capture, launches=copies, columns=made, text=text), told


def silent_flips(path: Path) -> tuple[int, list[str]]:
    """How many cells were scaled, and those that turn a verdict into another without a sign."""
    capture = read_capture(path)
    flips, tried = [], 0
    for row in range(len(capture)):
        changed, told = variants(capture, row)
        judged = rank_bottlenecks(changed)
        if judged.status(0) is Status.INCONCLUSIVE:
            continue
        tried += len(told) - 1
        before = _answer(judged, 0)
        doubts = [each.rows & ~each.rows[0] for each in judged.context.facts.doubts]
        warned = np.logical_or.reduce([np.zeros(len(told), dtype=np.bool_), *doubts])
        for at in range(1, len(told)):
            if warned[at] or judged.status(at) is Status.INCONCLUSIVE:
                continue
            slug, confidence = _answer(judged, at)
            if slug != before[0] and RANK[confidence] >= RANK[before[1]]:
                flips.append(f"{path.name}, launch {row}, {told[at]}: {before[0]} -> {slug}")
    return tried, flips


def _answer(judged: Judgement, row: int) -> tuple[str, Confidence]:
    rule = judged.rule(row)
    return rule.slug, grade_verdict(judged.context, judged.ranking, rule, row).confidence


@pytest.mark.parametrize("group", part_of(len(GROUPS), GROUPS, "gemm_series", why="all captures"))
def test_one_scaled_cell_never_flips_a_verdict_silently(group: str) -> None:
    found = [silent_flips(path) for path in GROUPS[group]]
    tried, flips = sum(each for each, _ in found), [each for _, some in found for each in some]
    sys.stdout.write(f"{group}: {len(flips)} of {tried} scaled cells flip silently\n")
    assert tried > 0
    assert len(flips) <= LEFT[group], "\n".join(flips)


def test_a_value_that_cannot_be_is_counted_once() -> None:
    """Several relations look at it, and each counted the launch again."""
    capture = captured("gemm_series.full.raw.csv")
    name = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
    values = capture.columns[name].values.copy()
    values[0] = 900.0
    columns = {**capture.columns, name: replace(capture.columns[name], values=values)}
    assert diagnose(replace(capture, columns=columns)).warnings == (
        "dram_throughput: a percentage above 110 is invalid; the value is treated as missing "
        "in 1 of 26 launches",
    )


def test_the_cells_that_misled_0_1_0_are_seen_now() -> None:
    """Device memory at 101 %, no thread per instruction, no share for 419 million wavefronts."""
    capture = captured("gemm_series.full.raw.csv")
    for name, value in (
        ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 101.0),
        ("smsp__thread_inst_executed_per_inst_executed.ratio", 0.0),
        ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed", 0.0),
        ("gpu__time_duration.sum", 1e-30),
    ):
        column = capture.columns[name]
        changed = replace(column, values=np.full_like(column.values, value))
        facts = rank_bottlenecks(
            replace(capture, columns={**capture.columns, name: changed})
        ).context.facts
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
