"""A row of evidence shows the value of the metric that it names, or says how it came about."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from tests.analysis.verdict.support import CAPTURES
from tests.support.captures import PAIRS, RECORDED
from tests.support.few import part_of

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.metrics.facts import upper_bound
from kernelprof.analysis.verdict import diagnose
from kernelprof.model.capture import Origin
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from pathlib import Path

EXPORTS = sorted(
    path
    for path in CAPTURES.rglob("*")
    if path.name.endswith((".csv", ".csv.gz", ".text.txt"))
    and not {"source_page", "sanitizer", "peers", "h200_changes", "h200_once"} & set(path.parts)
    and "times" not in path.name
)
DIRECTORIES = [
    path.parent for folder in (RECORDED, PAIRS) for path in sorted(folder.rglob("manifest.json"))
]


ALIKE = "hundreds of captures alike"
LONG = [path for path in EXPORTS if path.name.startswith(("basic.", "gemm_series.same-code-13x."))]
SHORT = [path for path in EXPORTS if path not in LONG]
SOME = [
    *part_of(4, SHORT, *SHORT[::12], why=ALIKE),
    *part_of(4, LONG, why="dozens of launches for which what to measure next has to be searched"),
    *part_of(12, DIRECTORIES, *DIRECTORIES[::72], why=ALIKE),
]


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.name)
def test_what_is_shown_as_measured_is_the_cell(path: Path) -> None:
    capture = read_capture(path)
    for kernel in diagnose(capture).kernels:
        for each in kernel.verdict.evidence:
            metric = load_metrics()[each.metric]
            if each.source is Origin.DERIVED:
                assert each.formula, (kernel.name, each)
                continue
            assert not each.formula
            cells = [
                min(float(capture.columns[name].values[row]), upper_bound(metric.unit))
                for row in kernel.rows
                for name in metric.all_ncu_names()
                if name in capture.columns
            ]
            shown = any(math.isclose(each.value, cell, rel_tol=1e-9) for cell in cells)
            assert shown, (kernel.name, each, cells[:4])


def test_the_busiest_unit_is_named_by_its_own_metric() -> None:
    """It was always called ``sm_throughput``, whatever the value was of."""
    capture = read_capture(CAPTURES / "validation" / "raw.csv.gz")
    found = [
        each.metric
        for kernel in diagnose(capture).kernels
        for each in kernel.verdict.evidence
        if each.label.startswith("busiest unit")
    ]
    assert {"issue_slots", "l2_throughput", "sm_throughput"} <= set(found)
